#include "numpy_arrays.h"

#include <nanobind/stl/string.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <utility>

#include "python_failures.h"
#include "strided_copy.h"

namespace nb = nanobind;

namespace anyshape {
namespace {

PyArrayObject* as_array(nb::handle object) {
    return reinterpret_cast<PyArrayObject*>(object.ptr());
}

PyArray_Descr* as_dtype(const nb::object& dtype) {
    return reinterpret_cast<PyArray_Descr*>(dtype.ptr());
}

// Dtypes of NumPy's own are nearly always the same object.
bool same_dtype(PyArray_Descr* found, PyArray_Descr* expected) {
    return found == expected || PyArray_EquivTypes(found, expected) != 0;
}

nb::str dtype_text(PyArray_Descr* dtype) {
    return nb::str(nb::borrow(reinterpret_cast<PyObject*>(dtype)));
}

// DLPack's names of types, for messages.
nb::str dtype_text(nb::dlpack::dtype type) {
    const char* name = "type ";
    switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
        case nb::dlpack::dtype_code::Int: name = "int"; break;
        case nb::dlpack::dtype_code::UInt: name = "uint"; break;
        case nb::dlpack::dtype_code::Float: name = "float"; break;
        case nb::dlpack::dtype_code::Bfloat: name = "bfloat"; break;
        case nb::dlpack::dtype_code::Complex: name = "complex"; break;
        case nb::dlpack::dtype_code::Bool: name = "bool"; break;
        default: break;
    }
    return nb::str((name + std::to_string(type.bits)).c_str());
}

nb::tuple as_tuple(std::span<const std::int64_t> values) {
    nb::list list;
    for (const std::int64_t value : values) list.append(value);
    return nb::tuple(list);
}

// Row-major without gaps. Strides of axes of size 1 or of empty arrays mean nothing.
bool is_contiguous(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
                   std::int64_t item_bytes) {
    if (std::ranges::find(sizes, 0) != sizes.end()) return true;
    std::int64_t expected = item_bytes;
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
        if (sizes[axis] != 1 && strides[axis] != expected) return false;
        expected *= sizes[axis];
    }
    return true;
}

// NumPy's array and our use of its parts agree on 64-bit systems only.
static_assert(sizeof(npy_intp) == sizeof(std::int64_t));
std::span<const std::int64_t> as_words(const npy_intp* values, std::size_t count) {
    return {reinterpret_cast<const std::int64_t*>(values), count};
}

}  // namespace

void import_numpy() {
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

// ---- in --------------------------------------------------------------------------------------

Arguments::Arguments(nb::handle inputs, const Program& program, std::span<const nb::object> dtypes,
                     Run& run)
    : program_(program) {
    const nb::object sequence =
        nb::steal(PySequence_Fast(inputs.ptr(), "inputs must be a sequence of arrays"));
    if (!sequence.is_valid()) throw nb::python_error();
    PyObject** items = PySequence_Fast_ITEMS(sequence.ptr());
    const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()));
    if (count != dtypes.size()) raise_failure("InputCountError", dtypes.size(), count);
    std::span<std::int64_t> dims = run.dims();
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t rank = program.inputs()[i].rank;
        if (PyArray_Check(items[i])) {
            take_numpy(i, items[i], dtypes[i], dims.first(rank), run);
        } else {
            take_dlpack(i, items[i], dtypes[i], dims.first(rank), run);
        }
        dims = dims.subspan(rank);
    }
}

void Arguments::take_numpy(std::size_t input, nb::handle object, const nb::object& dtype,
                           std::span<std::int64_t> dims, Run& run) {
    PyArrayObject* array = as_array(object);
    const std::string& name = program_.inputs()[input].name;
    if (!same_dtype(PyArray_DESCR(array), as_dtype(dtype))) {
        raise_failure("InputDtypeError", input, name, dtype_text(as_dtype(dtype)),
                      dtype_text(PyArray_DESCR(array)));
    }
    const auto rank = static_cast<std::size_t>(PyArray_NDIM(array));
    const auto sizes = as_words(PyArray_DIMS(array), rank);
    if (rank != dims.size()) {
        raise_failure("InputRankError", input, name, dims.size(), as_tuple(sizes));
    }
    std::ranges::copy(sizes, dims.begin());
    const auto* data = reinterpret_cast<const std::byte*>(PyArray_BYTES(array));
    if (PyArray_CHKFLAGS(array, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)) {
        run.set_input(input, data);
        return;
    }
    const auto strides = as_words(PyArray_STRIDES(array), rank);
    awkward_.push_back({input, data, static_cast<std::size_t>(PyArray_ITEMSIZE(array)),
                        {sizes.begin(), sizes.end()}, {strides.begin(), strides.end()}, {}});
}

void Arguments::take_dlpack(std::size_t input, nb::handle object, const nb::object& dtype,
                            std::span<std::int64_t> dims, Run& run) {
    const Input& declared = program_.inputs()[input];
    Imported array;
    if (!nb::try_cast(object, array, false)) {
        raise_failure("InputKindError", input, declared.name, nb::type_name(object.type()));
    }
    if (array.dtype() != nb::dlpack::dtype{declared.type.code, declared.type.bits, 1}) {
        raise_failure("InputDtypeError", input, declared.name, dtype_text(as_dtype(dtype)),
                      dtype_text(array.dtype()));
    }
    const std::span<const std::int64_t> sizes(array.shape_ptr(), array.ndim());
    if (sizes.size() != dims.size()) {
        raise_failure("InputRankError", input, declared.name, dims.size(), as_tuple(sizes));
    }
    std::ranges::copy(sizes, dims.begin());
    const std::int64_t item_bytes = declared.type.bytes();
    std::vector<std::int64_t> strides(array.stride_ptr(), array.stride_ptr() + sizes.size());
    for (std::int64_t& stride : strides) stride *= item_bytes;
    const auto* data = static_cast<const std::byte*>(array.data());
    const bool aligned = reinterpret_cast<std::uintptr_t>(data) %
                             static_cast<std::uintptr_t>(std::min<std::int64_t>(item_bytes, 8)) ==
                         0;
    if (aligned && is_contiguous(sizes, strides, item_bytes)) {
        run.set_input(input, data);
    } else {
        awkward_.push_back({input, data, static_cast<std::size_t>(item_bytes),
                            {sizes.begin(), sizes.end()}, std::move(strides), {}});
    }
    imported_.push_back(std::move(array));
}

void Arguments::copy(Run& run) {
    for (Awkward& array : awkward_) {
        std::size_t bytes = array.item_bytes;
        for (const std::int64_t size : array.sizes) {
            // Sizes of broadcast arrays may multiply to anything.
            if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes)) {
                throw std::bad_alloc();
            }
        }
        array.copied = Pool::process().take(bytes);
        copy_strided(array.copied.data(), array.data, array.sizes, array.strides,
                     array.item_bytes);
        run.set_input(array.input, array.copied.data());
    }
}

// ---- out -------------------------------------------------------------------------------------

namespace {

void return_to_pool(PyObject* capsule) {
    auto* data = static_cast<std::byte*>(PyCapsule_GetPointer(capsule, nullptr));
    const auto bucket = reinterpret_cast<std::intptr_t>(PyCapsule_GetContext(capsule));
    Pool::process().give_back(data, static_cast<int>(bucket));
}

nb::object capsule_of(PoolBlock block) {
    const nb::object capsule =
        nb::steal(PyCapsule_New(block.data(), nullptr, return_to_pool));
    if (!capsule.is_valid()) throw nb::python_error();
    PyCapsule_SetContext(capsule.ptr(), reinterpret_cast<void*>(std::intptr_t{block.bucket()}));
    block.release();
    return capsule;
}

nb::object array_on(void* data, std::span<const std::int64_t> dims, PyArray_Descr* dtype,
                    nb::object owner) {
    Py_INCREF(dtype);  // the new array takes it, even if it fails
    nb::object array = nb::steal(PyArray_NewFromDescr(
        &PyArray_Type, dtype, static_cast<int>(dims.size()),
        reinterpret_cast<const npy_intp*>(dims.data()), nullptr, data, NPY_ARRAY_CARRAY, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    if (PyArray_SetBaseObject(as_array(array), owner.release().ptr()) < 0) throw nb::python_error();
    return array;
}

}  // namespace

nb::object new_output(const nb::object& dtype, std::span<const std::int64_t> dims,
                      std::int64_t bytes) {
    PoolBlock block = Pool::process().take(static_cast<std::size_t>(bytes));
    void* data = block.data();
    return array_on(data, dims, as_dtype(dtype), capsule_of(std::move(block)));
}

void* data_of(const nb::object& output) noexcept { return PyArray_DATA(as_array(output)); }

nb::object byte_view(std::byte* data, std::int64_t bytes, nb::handle owner) {
    PyArray_Descr* dtype = PyArray_DescrFromType(NPY_UINT8);
    const nb::object keep = nb::steal(reinterpret_cast<PyObject*>(dtype));
    return array_on(data, {&bytes, 1}, dtype, nb::borrow(owner));
}

}  // namespace anyshape
