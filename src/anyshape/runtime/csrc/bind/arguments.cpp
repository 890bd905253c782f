#include "bind/arguments.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "bind/numpy_api.h"
#include "bind/python_failures.h"
#include "core/size_math.h"
#include "core/strided_copy.h"

namespace nb = nanobind;

namespace anyshape {
namespace {

// Dtypes of NumPy's own are nearly always the same object.
bool same_dtype(PyArray_Descr* found, PyArray_Descr* expected) {
    return found == expected || PyArray_EquivTypes(found, expected) != 0;
}

nb::str dtype_text(PyArray_Descr* dtype) {
    return nb::str(nb::borrow(reinterpret_cast<PyObject*>(dtype)));
}

std::string dtype_text(nb::dlpack::dtype type) {
    const std::string bits = std::to_string(type.bits);
    switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
        case nb::dlpack::dtype_code::Int: return "int" + bits;
        case nb::dlpack::dtype_code::UInt: return "uint" + bits;
        case nb::dlpack::dtype_code::Float: return "float" + bits;
        case nb::dlpack::dtype_code::Bfloat: return "bfloat" + bits;
        case nb::dlpack::dtype_code::Complex: return "complex" + bits;
        case nb::dlpack::dtype_code::Bool: return "bool";
        default: return "DLPack type " + std::to_string(type.code) + " of " + bits + " bits";
    }
}

// Bytes between neighbours along each axis; DLPack may leave them out where there are no gaps.
std::vector<std::int64_t> byte_strides(const nb::dlpack::dltensor& tensor,
                                       std::int64_t item_bytes) {
    std::vector<std::int64_t> strides(static_cast<std::size_t>(tensor.ndim));
    std::int64_t row_major = item_bytes;
    for (std::size_t axis = strides.size(); axis-- > 0;) {
        strides[axis] = tensor.strides != nullptr ? tensor.strides[axis] * item_bytes : row_major;
        // Around an empty axis, the others may multiply to anything.
        static_cast<void>(__builtin_mul_overflow(row_major, tensor.shape[axis], &row_major));
    }
    return strides;
}

}  // namespace

Arguments::Arguments(nb::handle inputs, const Program& program, std::span<const nb::object> dtypes,
                     Run& run)
    : program_(program), run_(run), inputs_(nb::steal(PySequence_Tuple(inputs.ptr()))) {
    if (!inputs_.is_valid()) throw nb::python_error();
    const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(inputs_.ptr()));
    if (count != dtypes.size()) raise_failure("InputCountError", dtypes.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
        const nb::handle input = object(i);
        if (PyArray_Check(input.ptr())) {
            take_numpy(i, input, dtypes[i]);
        } else {
            take_tensor(i, input, dtypes[i]);
        }
    }
}

void Arguments::take_numpy(std::size_t input, nb::handle object, nb::handle dtype) {
    PyArrayObject* array = as_array(object);
    const Input& declared = program_.inputs()[input];
    if (!same_dtype(PyArray_DESCR(array), as_dtype(dtype))) {
        raise_failure("InputDtypeError", input, declared.name, dtype_text(as_dtype(dtype)),
                      dtype_text(PyArray_DESCR(array)));
    }
    const auto rank = static_cast<std::size_t>(PyArray_NDIM(array));
    const auto sizes = as_words(PyArray_DIMS(array), rank);
    if (rank != declared.rank) {
        raise_failure("InputRankError", input, declared.name, declared.rank, as_tuple(sizes));
    }
    const auto* data = reinterpret_cast<const std::byte*>(PyArray_BYTES(array));
    const bool dense = PyArray_CHKFLAGS(array, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED);
    if (dense && declared.order.empty()) {
        std::ranges::copy(sizes, dims(input).begin());
        run_.set_input(input, data);
        return;
    }
    take(input, data, sizes, as_words(PyArray_STRIDES(array), rank));
}

void Arguments::take_tensor(std::size_t input, nb::handle object, nb::handle dtype) {
    const Input& declared = program_.inputs()[input];
    std::optional<Tensor> tensor = read_tensor(object);
    if (!tensor) {
        raise_failure("InputKindError", input, declared.name, nb::type_name(object.type()));
    }
    const nb::dlpack::dltensor& view = tensor->view;
    if (view.dtype != nb::dlpack::dtype{declared.type.code, declared.type.bits, 1}) {
        raise_failure("InputDtypeError", input, declared.name, dtype_text(as_dtype(dtype)),
                      dtype_text(view.dtype));
    }
    const std::span<const std::int64_t> sizes(view.shape, static_cast<std::size_t>(view.ndim));
    if (sizes.size() != declared.rank) {
        raise_failure("InputRankError", input, declared.name, declared.rank, as_tuple(sizes));
    }
    const auto* data = static_cast<const std::byte*>(view.data) + view.byte_offset;
    take(input, data, sizes, byte_strides(view, declared.type.bytes()));
    if (tensor->holder.is_valid()) tensors_.push_back(std::move(*tensor));
}

// `sizes` and `strides` are in the caller's order.
void Arguments::take(std::size_t input, const std::byte* data, std::span<const std::int64_t> sizes,
                     std::span<const std::int64_t> strides) {
    const Order& order = program_.inputs()[input].order;
    if (order.empty()) return take_in_order(input, data, sizes, strides);
    take_in_order(input, data, in_order(sizes, order), in_order(strides, order));
}

void Arguments::take_in_order(std::size_t input, const std::byte* data,
                              std::span<const std::int64_t> sizes,
                              std::span<const std::int64_t> strides) {
    const std::int64_t item_bytes = program_.inputs()[input].type.bytes();
    std::ranges::copy(sizes, dims(input).begin());
    if (is_aligned(data, item_bytes) && is_dense(sizes, strides, item_bytes)) {
        run_.set_input(input, data);
        return;
    }
    copies_.push_back({.input = input,
                       .data = data,
                       .item_bytes = static_cast<std::size_t>(item_bytes),
                       .sizes = {sizes.begin(), sizes.end()},
                       .strides = {strides.begin(), strides.end()},
                       .block = {}});
}

// ---- copies ----------------------------------------------------------------------------------

// Sizes of broadcast arrays may multiply to anything: beyond max_bytes, all are alike.
std::int64_t Arguments::Copy::bytes() const noexcept {
    std::optional<std::int64_t> bytes = static_cast<std::int64_t>(item_bytes);
    if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
    for (const std::int64_t size : sizes) {
        if (bytes) bytes = checked_multiply(*bytes, size);
    }
    return bytes.value_or(max_bytes);
}

std::int64_t Arguments::copied_bytes() const noexcept {
    std::optional<std::int64_t> total = 0;
    for (const Copy& copy : copies_) {
        if (total && !program_.is_start(copy.input)) total = checked_add(*total, copy.bytes());
    }
    return total.value_or(max_bytes);
}

void Arguments::copy_to(std::size_t input, std::byte* to) {
    const auto known = std::ranges::find(copies_, input, &Copy::input);
    if (known != copies_.end()) {
        known->to = to;
        return;
    }
    copies_.push_back({.input = input,
                       .data = run_.input(input),
                       .item_bytes = 1,
                       .sizes = {bytes(input)},
                       .strides = {1},
                       .to = to,
                       .block = {}});
}

void Arguments::copy() {
    for (Copy& copy : copies_) {
        if (copy.to == nullptr) {
            copy.block = Pool::process().take(static_cast<std::size_t>(copy.bytes()));
            copy.to = copy.block.data();
        }
        copy_strided(copy.to, copy.data, copy.sizes, copy.strides, copy.item_bytes);
        run_.set_input(copy.input, copy.to);
    }
}

// ---- for those who write ---------------------------------------------------------------------

nb::handle Arguments::object(std::size_t input) const noexcept {
    return PyTuple_GET_ITEM(inputs_.ptr(), static_cast<Py_ssize_t>(input));
}

std::span<std::int64_t> Arguments::dims(std::size_t input) const noexcept {
    return run_.dims().subspan(program_.dim_begin(input), program_.inputs()[input].rank);
}

std::span<const std::int64_t> Arguments::sizes(std::size_t input) const noexcept {
    return dims(input);
}

const Arguments::Copy* Arguments::copy_of(std::size_t input) const noexcept {
    const auto found = std::ranges::find(copies_, input, &Copy::input);
    return found != copies_.end() ? &*found : nullptr;
}

bool Arguments::is_used_as_it_is(std::size_t input) const noexcept {
    return copy_of(input) == nullptr;
}

// Of dense inputs, whose memory is all there: their sizes multiply to what exists.
std::int64_t Arguments::bytes(std::size_t input) const noexcept {
    if (const Copy* copy = copy_of(input)) return copy->bytes();
    std::int64_t bytes = program_.inputs()[input].type.bytes();
    const auto own_sizes = sizes(input);
    if (std::ranges::find(own_sizes, 0) != own_sizes.end()) return 0;
    for (const std::int64_t size : own_sizes) bytes *= size;
    return bytes;
}

// Of other libraries, only those with a table of functions say so.
bool Arguments::is_writeable(std::size_t input) const noexcept {
    const nb::handle given = object(input);
    if (PyArray_Check(given.ptr())) return PyArray_ISWRITEABLE(as_array(given));
    return is_writeable_tensor(given);
}

ByteRange Arguments::range(std::size_t input) const noexcept {
    if (const Copy* copy = copy_of(input)) {
        return byte_range(copy->data, copy->sizes, copy->strides,
                          static_cast<std::int64_t>(copy->item_bytes));
    }
    return {run_.input(input), run_.input(input) + bytes(input)};
}

}  // namespace anyshape
