#include "bind/dlpack_exchange.h"

#include <utility>

namespace nb = nanobind;

namespace anyshape {
namespace {

// DLPackExchangeAPI of dlpack.h 1.3, with the functions that we do not call as mere pointers.
struct ExchangeTable {
    std::uint32_t major_version;
    std::uint32_t minor_version;
    const ExchangeTable* older;
    void* allocate;
    void* managed_from_object;
    void* managed_to_object;
    int (*view_of_object)(void* object, nb::dlpack::dltensor* view);  // -1: Python error is set
    void* current_stream;
};

const ExchangeTable* exchange_table(PyTypeObject* type) {
    const nb::object capsule = nb::steal(
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__"));
    if (!capsule.is_valid() || !PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
        PyErr_Clear();
        return nullptr;
    }
    const auto* table = static_cast<const ExchangeTable*>(
        PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    while (table != nullptr && table->major_version > 1) table = table->older;
    return table;
}

bool is_readable(const nb::dlpack::dltensor& view) {
    bool empty = false;
    for (int axis = 0; axis < view.ndim; ++axis) empty |= view.shape[axis] == 0;
    return view.device.device_type == nb::device::cpu::value && (empty || view.data != nullptr);
}

std::optional<Tensor> read_by_table(const ExchangeTable& table, nb::handle object) {
    Tensor tensor;
    if (table.view_of_object(object.ptr(), &tensor.view) != 0) {
        PyErr_Clear();
        return std::nullopt;
    }
    return tensor;
}

// `__dlpack__()`, the buffer protocol, or whatever else nanobind knows.
std::optional<Tensor> read_by_protocol(nb::handle object) {
    Tensor tensor;
    if (!nb::try_cast(object, tensor.holder, false)) return std::nullopt;
    tensor.view.data = const_cast<void*>(tensor.holder.data());
    tensor.view.device = {tensor.holder.device_type(), tensor.holder.device_id()};
    tensor.view.ndim = static_cast<std::int32_t>(tensor.holder.ndim());
    tensor.view.dtype = tensor.holder.dtype();
    tensor.view.shape = const_cast<std::int64_t*>(tensor.holder.shape_ptr());
    tensor.view.strides = const_cast<std::int64_t*>(tensor.holder.stride_ptr());
    return tensor;
}

}  // namespace

std::optional<Tensor> read_tensor(nb::handle object) {
    const ExchangeTable* table = exchange_table(Py_TYPE(object.ptr()));
    std::optional<Tensor> tensor =
        table != nullptr ? read_by_table(*table, object) : read_by_protocol(object);
    if (tensor && !is_readable(tensor->view)) return std::nullopt;
    return tensor;
}

bool is_writeable_tensor(nb::handle object) noexcept {
    return exchange_table(Py_TYPE(object.ptr())) != nullptr;
}

}  // namespace anyshape
