#include "bind/outputs.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/available_memory.h"
#define ANYSHAPE_IMPORTS_NUMPY
#include "bind/numpy_api.h"
#include "core/pool.h"

namespace nb = nanobind;

namespace anyshape {
namespace {

// ---- who owns blocks -------------------------------------------------------------------------

void return_to_pool(PyObject* capsule) {
    auto* data = static_cast<std::byte*>(PyCapsule_GetPointer(capsule, nullptr));
    const auto bucket = reinterpret_cast<std::intptr_t>(PyCapsule_GetContext(capsule));
    Pool::process().give_back(data, static_cast<int>(bucket));
}

nb::object capsule_of(PoolBlock block, PyCapsule_Destructor end) {
    nb::object capsule = nb::steal(PyCapsule_New(block.data(), nullptr, end));
    if (!capsule.is_valid()) throw nb::python_error();
    PyCapsule_SetContext(capsule.ptr(), reinterpret_cast<void*>(std::intptr_t{block.bucket()}));
    block.release();
    return capsule;
}

// ---- growable blocks -------------------------------------------------------------------------

struct Growable {
    PyObject* owner = nullptr;  // a capsule that removes this entry when it dies
    std::int64_t room = 0;      // bytes of the block
    std::int64_t used = 0;      // of them, by the longest array
};

// By where they begin. Never destroyed, because arrays outlive everything else.
std::unordered_map<const void*, Growable>& growables() {
    static auto& blocks = *std::make_unique<std::unordered_map<const void*, Growable>>().release();
    return blocks;
}

void end_growable(PyObject* capsule) {
    growables().erase(PyCapsule_GetPointer(capsule, nullptr));
    return_to_pool(capsule);
}

// ---- arrays ----------------------------------------------------------------------------------

// The caller's sizes and strides.
struct Layout {
    std::vector<npy_intp> sizes;
    std::vector<npy_intp> strides;
};

Layout layout_of(const ArrayForm& form) {
    Layout layout{std::vector<npy_intp>(form.dims.size()), std::vector<npy_intp>(form.dims.size())};
    npy_intp stride = PyDataType_ELSIZE(as_dtype(form.dtype));
    for (std::size_t axis = form.dims.size(); axis-- > 0;) {
        layout.sizes[form.order[axis]] = form.dims[axis];
        layout.strides[form.order[axis]] = stride;
        stride *= std::max<npy_intp>(form.dims[axis], 1);
    }
    return layout;
}

nb::object array_on(void* data, const npy_intp* sizes, const npy_intp* strides, std::size_t rank,
                    PyArray_Descr* dtype, nb::object owner) {
    Py_INCREF(dtype);  // the new array takes it, even if it cannot be made
    nb::object array =
        nb::steal(PyArray_NewFromDescr(&PyArray_Type, dtype, static_cast<int>(rank), sizes, strides,
                                       data, NPY_ARRAY_CARRAY, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    if (PyArray_SetBaseObject(as_array(array), owner.release().ptr()) < 0) throw nb::python_error();
    return array;
}

nb::object array_of(const ArrayForm& form, void* data, nb::object owner) {
    if (form.order.empty()) {
        const auto* sizes = reinterpret_cast<const npy_intp*>(form.dims.data());
        return array_on(data, sizes, nullptr, form.dims.size(), as_dtype(form.dtype),
                        std::move(owner));
    }
    const Layout layout = layout_of(form);
    return array_on(data, layout.sizes.data(), layout.strides.data(), form.dims.size(),
                    as_dtype(form.dtype), std::move(owner));
}

PoolBlock block_for(const ArrayForm& form) {
    return Pool::process().take(static_cast<std::size_t>(form.bytes));
}

}  // namespace

void import_numpy() {
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

nb::object new_output(const ArrayForm& form) {
    PoolBlock block = block_for(form);
    void* data = block.data();
    return array_of(form, data, capsule_of(std::move(block), return_to_pool));
}

nb::object output_on(const ArrayForm& form, PoolBlock block) {
    std::byte* data = block.data();
    return array_of(form, data, capsule_of(std::move(block), return_to_pool));
}

nb::object array_on(const ArrayForm& form, std::byte* data, nb::object owner) {
    return array_of(form, data, std::move(owner));
}

nb::object new_growable_output(const ArrayForm& form) {
    PoolBlock block = block_for(form);
    std::byte* data = block.data();
    const auto room = static_cast<std::int64_t>(block.bytes());
    nb::object owner = capsule_of(std::move(block), end_growable);
    growables()[data] = {.owner = owner.ptr(), .room = room, .used = form.bytes};
    return array_of(form, data, std::move(owner));
}

nb::object continued_output(const ArrayForm& form, const std::byte* data, std::int64_t used) {
    const auto found = growables().find(data);
    if (found == growables().end()) return {};
    Growable& block = found->second;
    if (block.used != used || block.room < form.bytes) return {};
    CallMemory::require(static_cast<std::size_t>(form.bytes - used));
    nb::object array = array_of(form, const_cast<std::byte*>(data), nb::borrow(block.owner));
    block.used = form.bytes;
    return array;
}

bool is_shared_block(const std::byte* data) noexcept {
    const auto found = growables().find(data);
    return found != growables().end() && Py_REFCNT(found->second.owner) > 1;
}

std::byte* data_of(nb::handle output) noexcept {
    return static_cast<std::byte*>(PyArray_DATA(as_array(output)));
}

nb::object byte_view(std::byte* data, std::int64_t bytes, nb::handle owner) {
    const nb::object dtype =
        nb::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_UINT8)));
    const npy_intp size = bytes;
    return array_on(data, &size, nullptr, 1, as_dtype(dtype), nb::borrow(owner));
}

}  // namespace anyshape
