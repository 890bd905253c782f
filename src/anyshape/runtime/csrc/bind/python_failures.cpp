#include "bind/python_failures.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <new>

#include "core/course.h"
#include "core/failures.h"
#include "core/stop.h"

namespace nb = nanobind;

namespace anyshape {

nb::tuple as_tuple(std::span<const std::int64_t> values) {
    nb::list list;
    for (const std::int64_t value : values) list.append(value);
    return nb::tuple(list);
}

namespace {

template <typename... Fields>
void set_error(const char* name, Fields&&... fields) {
    try {
        raise_failure(name, std::forward<Fields>(fields)...);
    } catch (nb::python_error& error) {
        error.restore();
    }
}

void translate(const std::exception_ptr& thrown, void*);

// The failure of a program says which one it is, and what sizes it was given.
void translate_in_program(const InProgram& failed) {
    try {
        translate(failed.cause, nullptr);
    } catch (const std::exception& other) {
        PyErr_SetString(PyExc_RuntimeError, other.what());
    }
    nb::python_error error;
    nb::object value = nb::borrow(error.value());
    if (nb::hasattr(value, "segment")) {
        value.attr("segment") = nb::make_tuple(failed.program, as_tuple(failed.dims));
    }
    error.restore();
}

void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const CheckFailed& failed) {
        const char* stage = failed.stage == Stage::bind ? "bind" : "shape";
        set_error("CheckFailedError", stage, failed.check, as_tuple(failed.values));
    } catch (const ImpossibleSize& size) {
        set_error("ImpossibleSizeError", size.subject, size.value);
    } catch (const MemoryLimitExceeded& exceeded) {
        const NeededBytes& bytes = exceeded.bytes;
        set_error("MemoryLimitExceededError", bytes.arena, bytes.outputs, bytes.copies,
                  exceeded.limit, as_tuple(exceeded.symbols));
    } catch (const MemoryUnavailable& lack) {
        set_error("MemoryUnavailableError", lack.bytes.arena, lack.bytes.outputs, lack.bytes.copies,
                  lack.available, as_tuple(lack.symbols));
    } catch (const std::bad_alloc&) {
        set_error("OutOfMemoryError");
    } catch (const Stopped& stopped) {
        if (stopped.reason == StopReason::interrupt) return;  // Python's own exception is set
        if (stopped.reason == StopReason::fork) return set_error("ForkedCallError");
        const bool late = stopped.reason == StopReason::deadline;
        set_error("StoppedError", late ? "deadline" : "cancelled");
    } catch (const MalformedProgram& malformed) {
        set_error("MalformedProgramError", malformed.what());
    } catch (const UnfitSize& unfit) {
        set_error("UnfitSizeError", unfit.number, unfit.size, unfit.rows);
    } catch (const InProgram& failed) {
        translate_in_program(failed);
    }
}

}  // namespace

void translate_failures() { nb::register_exception_translator(translate, nullptr); }

}  // namespace anyshape
