// Python's view of courses: one call, and what Python computes in the middle of it.
//
// Ownership: a BoundCourse holds the programs and whatever owns its constants. Arrays that the
// host is given hold the memory that they show.
// Thread-safety: as course.h. Calls give up the GIL, and take it for as long as the host computes.
#include "bind/bind_course.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bind/arguments.h"
#include "bind/calls.h"
#include "bind/gil.h"
#include "bind/numpy_api.h"
#include "bind/outputs.h"
#include "bind/python_failures.h"
#include "bind/read_course.h"
#include "bind/read_description.h"
#include "core/available_memory.h"
#include "core/course.h"
#include "core/size_math.h"

namespace nb = nanobind;

namespace anyshape {
namespace {

struct BoundCourse {
    std::unique_ptr<Course> course;
    const BoundProgram* entry = nullptr;
    nb::object programs;  // a tuple
    nb::object keep;      // whatever owns constants
    nb::object host;      // host(number, operands, sizes) -> results, dense
    std::vector<nb::object> result_dtypes;
    std::vector<std::vector<nb::object>> host_dtypes;
};

std::unique_ptr<BoundCourse> make_course(nb::handle description, nb::tuple programs,
                                         nb::object host, nb::object keep) {
    import_numpy();
    std::vector<Runner*> runners;
    for (const nb::handle program : programs) {
        runners.push_back(nb::cast<const BoundProgram&>(program).runner.get());
    }
    ReadCourse read = read_course(description);
    auto bound = std::make_unique<BoundCourse>();
    bound->course = std::make_unique<Course>(std::move(read.course), std::move(runners));
    bound->entry = &nb::cast<const BoundProgram&>(programs[0]);
    bound->programs = std::move(programs);
    bound->keep = std::move(keep);
    bound->host = std::move(host);
    bound->result_dtypes = std::move(read.result_dtypes);
    bound->host_dtypes = std::move(read.host_dtypes);
    return bound;
}

// ---- values and arrays -----------------------------------------------------------------------

const Order as_it_is;

ArrayForm form_of(const Value& value, nb::handle dtype) {
    std::int64_t bytes = PyDataType_ELSIZE(as_dtype(dtype));
    for (const std::int64_t size : value.dims) bytes *= size;
    return {.dtype = dtype, .dims = value.dims, .order = as_it_is, .bytes = bytes};
}

struct Held {
    std::shared_ptr<PoolBlock> block;
    std::shared_ptr<void> owner;
};

void end_held(PyObject* capsule) {
    const std::unique_ptr<Held> held(static_cast<Held*>(PyCapsule_GetPointer(capsule, nullptr)));
}

nb::object owner_of(const Value& value) {
    auto held = std::make_unique<Held>(value.block, value.owner);
    nb::object capsule = nb::steal(PyCapsule_New(held.get(), nullptr, end_held));
    if (!capsule.is_valid()) throw nb::python_error();
    held.release();
    return capsule;
}

nb::object copied(const Value& value, const ArrayForm& form) {
    nb::object array = new_output(form);
    if (form.bytes > 0) {
        std::memcpy(data_of(array), value.data, static_cast<std::size_t>(form.bytes));
    }
    return array;
}

// Takes the lock, which an interpreter that ends never gives: see `called`.
void let_go(void* held) noexcept {
    PyGILState_STATE state{};
    try {
        state = PyGILState_Ensure();
    } catch (...) {
        while (true) pause();
    }
    Py_DECREF(static_cast<PyObject*>(held));
    PyGILState_Release(state);
}

// An array of the host's: its memory lives as long as the array does.
void take_array(Value& value, nb::handle object) {
    if (!PyArray_Check(object.ptr()) || !PyArray_ISCARRAY_RO(as_array(object))) {
        throw nb::type_error("the host gives dense arrays");
    }
    PyArrayObject* array = as_array(object);
    const auto dims =
        as_words(PyArray_DIMS(array), static_cast<std::size_t>(PyArray_NDIM(array)));
    value.data = static_cast<std::byte*>(PyArray_DATA(array));
    value.dims.assign(dims.begin(), dims.end());
    Py_INCREF(object.ptr());
    value.owner = std::shared_ptr<void>(object.ptr(), let_go);
}

// The array that the caller gets: it owns its memory, and shares it with no other.
nb::object result_of(Value& value, nb::handle dtype) {
    const ArrayForm form = form_of(value, dtype);
    const bool is_whole = value.block != nullptr && value.block.use_count() == 1 &&
                          value.data == value.block->data();
    if (!is_whole) return copied(value, form);
    PoolBlock block = std::move(*value.block);
    value.block.reset();  // the array's from now on; whoever shows it again copies it
    return output_on(form, std::move(block));
}

// ---- the host ----------------------------------------------------------------------------------

// Python's error is set.
struct HostFailed {};

// An interpreter that ends stops its threads where they wait for its lock, by unwinding. What
// stands on the stack above needs the lock to end, so the unwinding goes no further than here.
PyObject* called(PyObject* host, PyObject* number, PyObject* operands, PyObject* sizes) {
    try {
        return PyObject_CallFunctionObjArgs(host, number, operands, sizes, nullptr);
    } catch (...) {  // C throws nothing else
        while (true) pause();
    }
}

struct Host {
    const BoundCourse& course;
    WithoutGil& released;
    const Arguments& arguments;

    // Memory of an input or a constant: whoever keeps the array keeps what owns these, too.
    nb::object lent(const Value& value, const ArrayForm& form) const {
        if (!arguments.live_with_objects()) return copied(value, form);
        return array_on(form, value.data, nb::make_tuple(arguments.objects(), course.keep));
    }

    nb::object array(const Value& value, nb::handle dtype) const {
        const ArrayForm form = form_of(value, dtype);
        const bool is_lent = value.block == nullptr && value.owner == nullptr;
        return is_lent ? lent(value, form) : array_on(form, value.data, owner_of(value));
    }

    void call(HostCall& call) const {
        const auto& dtypes = course.host_dtypes[call.step.number];
        nb::list operands;
        for (std::size_t i = 0; i < call.operands.size(); ++i) {
            operands.append(array(*call.operands[i], dtypes[i]));
        }
        const nb::object number = nb::int_(call.step.number), sizes = as_tuple(call.sizes);
        const nb::object results = nb::steal(
            called(course.host.ptr(), number.ptr(), operands.ptr(), sizes.ptr()));
        if (!results.is_valid()) throw nb::python_error();
        if (nb::len(results) != call.results.size()) {
            throw nb::type_error("the host gives another number of results");
        }
        for (std::size_t i = 0; i < call.results.size(); ++i) {
            take_array(call.results[i], nb::object(results[i]));
        }
    }
};

void call_host(void* what, HostCall& call) {
    const Host& host = *static_cast<const Host*>(what);
    bool failed = false;
    host.released.with_gil([&] {
        try {
            host.call(call);
        } catch (nb::python_error& error) {
            error.restore();
            failed = true;
        } catch (const nb::builtin_exception& error) {
            PyErr_SetString(PyExc_TypeError, error.what());
            failed = true;
        }
    });
    if (failed) throw HostFailed();
}

// ---- calls -----------------------------------------------------------------------------------

void execute(const BoundCourse& course, CourseRun& run, Arguments& arguments, CourseLimits limits,
             const Stop::Limits* given) {
    WithoutGil released;
    try {
        arguments.copy();
    } catch (const std::bad_alloc&) {
        run.entry().throw_lack_of_memory(limits.held);
    }
    Stop::Limits ending = given != nullptr ? *given : Stop::Limits{};
    const bool interruptible = on_main_thread();
    if (interruptible) {
        ending.interrupted = signals_raise;
        ending.what = &released;
    }
    Host host{course, released, arguments};
    Stop stop(ending);
    limits.stop = interruptible || given != nullptr ? &stop : nullptr;
    limits.punctual = given != nullptr;
    limits.host = call_host;
    limits.what = &host;
    run.execute(limits);
}

nb::object call(const BoundCourse& course, nb::handle inputs, std::optional<std::int64_t> deadline,
                const Cancellation* cancellation, nb::handle memory_limit) {
    const Runner& entry = course.course->entry();
    const Stop::Limits given = limits_of(deadline, cancellation);
    const bool is_given = deadline || cancellation != nullptr;
    CourseRun run(*course.course);
    Arguments arguments(inputs, entry.program(), course.entry->input_dtypes, run.entry());
    prepare(run.entry());
    const CourseLimits limits{
        .memory_limit = read_memory_limit(memory_limit, entry.memory_limit()),
        .held = arguments.copied_bytes()};
    run.entry().require_memory_within(limits.memory_limit, limits.held);
    const CallMemory counted;
    try {
        execute(course, run, arguments, limits, is_given ? &given : nullptr);
    } catch (const HostFailed&) {
        throw nb::python_error();
    }
    nb::list results;
    for (std::size_t i = 0; i < course.result_dtypes.size(); ++i) {
        results.append(result_of(run.result(i), course.result_dtypes[i]));
    }
    return nb::tuple(results);
}

}  // namespace

void bind_course(nb::module_& module) {
    nb::class_<BoundCourse>(module, "Course")
        .def(nb::new_(&make_course), nb::arg("description"), nb::arg("programs"), nb::arg("host"),
             nb::arg("keep"))
        .def("run",
             [](const BoundCourse& course, nb::handle inputs) {
                 return call(course, inputs, std::nullopt, nullptr, nb::none());
             })
        .def("run_within", &call, nb::arg("inputs"), nb::arg("deadline").none(),
             nb::arg("cancellation").none(), nb::arg("memory_limit").none())
        .def("reserve",
             [](const BoundCourse& course, std::size_t bytes) {
                 const WithoutGil released;
                 const CallMemory counted;
                 course.course->reserve(bytes);
             })
        .def("trim", [](const BoundCourse& course) { course.course->trim(); })
        .def_prop_ro("idle_arena_bytes", [](const BoundCourse& course) {
            return course.course->idle_arena_bytes();
        });
}

}  // namespace anyshape
