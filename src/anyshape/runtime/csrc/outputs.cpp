#include "outputs.h"

#include <utility>

#define ANYSHAPE_IMPORTS_NUMPY
#include "numpy_api.h"
#include "pool.h"

namespace nb = nanobind;

namespace anyshape {
namespace {

void return_to_pool(PyObject* capsule) {
    auto* data = static_cast<std::byte*>(PyCapsule_GetPointer(capsule, nullptr));
    const auto bucket = reinterpret_cast<std::intptr_t>(PyCapsule_GetContext(capsule));
    Pool::process().give_back(data, static_cast<int>(bucket));
}

nb::object capsule_of(PoolBlock block) {
    nb::object capsule = nb::steal(PyCapsule_New(block.data(), nullptr, return_to_pool));
    if (!capsule.is_valid()) throw nb::python_error();
    PyCapsule_SetContext(capsule.ptr(), reinterpret_cast<void*>(std::intptr_t{block.bucket()}));
    block.release();
    return capsule;
}

nb::object array_on(void* data, std::span<const std::int64_t> dims, PyArray_Descr* dtype,
                    nb::object owner) {
    Py_INCREF(dtype);  // the new array takes it, even if it cannot be made
    nb::object array = nb::steal(PyArray_NewFromDescr(
        &PyArray_Type, dtype, static_cast<int>(dims.size()),
        reinterpret_cast<const npy_intp*>(dims.data()), nullptr, data, NPY_ARRAY_CARRAY, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    if (PyArray_SetBaseObject(as_array(array), owner.release().ptr()) < 0) throw nb::python_error();
    return array;
}

}  // namespace

void import_numpy() {
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

nb::object new_output(nb::handle dtype, std::span<const std::int64_t> dims, std::int64_t bytes) {
    PoolBlock block = Pool::process().take(static_cast<std::size_t>(bytes));
    void* data = block.data();
    return array_on(data, dims, as_dtype(dtype), capsule_of(std::move(block)));
}

void* data_of(nb::handle output) noexcept { return PyArray_DATA(as_array(output)); }

nb::object byte_view(std::byte* data, std::int64_t bytes, nb::handle owner) {
    const nb::object dtype =
        nb::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_UINT8)));
    return array_on(data, {&bytes, 1}, as_dtype(dtype), nb::borrow(owner));
}

}  // namespace anyshape
