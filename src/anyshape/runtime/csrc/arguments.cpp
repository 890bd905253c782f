#include "arguments.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "numpy_api.h"
#include "python_failures.h"
#include "size_math.h"
#include "strided_copy.h"

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

bool is_aligned(const void* data, std::int64_t item_bytes) {
    const auto needed = static_cast<std::uintptr_t>(std::min<std::int64_t>(item_bytes, 8));
    return reinterpret_cast<std::uintptr_t>(data) % needed == 0;
}

}  // namespace

Arguments::Arguments(nb::handle inputs, const Program& program, std::span<const nb::object> dtypes,
                     Run& run)
    : program_(program), inputs_(nb::steal(PySequence_Tuple(inputs.ptr()))) {
    if (!inputs_.is_valid()) throw nb::python_error();
    const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(inputs_.ptr()));
    if (count != dtypes.size()) raise_failure("InputCountError", dtypes.size(), count);
    std::span<std::int64_t> dims = run.dims();
    for (std::size_t i = 0; i < count; ++i) {
        const nb::handle input = PyTuple_GET_ITEM(inputs_.ptr(), static_cast<Py_ssize_t>(i));
        const std::size_t rank = program.inputs()[i].rank;
        if (PyArray_Check(input.ptr())) {
            take_numpy(i, input, dtypes[i], dims.first(rank), run);
        } else {
            take_tensor(i, input, dtypes[i], dims.first(rank), run);
        }
        dims = dims.subspan(rank);
    }
}

void Arguments::take_numpy(std::size_t input, nb::handle object, nb::handle dtype,
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

void Arguments::take_tensor(std::size_t input, nb::handle object, nb::handle dtype,
                            std::span<std::int64_t> dims, Run& run) {
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
    if (sizes.size() != dims.size()) {
        raise_failure("InputRankError", input, declared.name, dims.size(), as_tuple(sizes));
    }
    std::ranges::copy(sizes, dims.begin());
    const std::int64_t item_bytes = declared.type.bytes();
    const auto* data = static_cast<const std::byte*>(view.data) + view.byte_offset;
    std::vector<std::int64_t> strides = byte_strides(view, item_bytes);
    if (is_aligned(data, item_bytes) && is_contiguous(sizes, strides, item_bytes)) {
        run.set_input(input, data);
    } else {
        awkward_.push_back({input, data, static_cast<std::size_t>(item_bytes),
                            {sizes.begin(), sizes.end()}, std::move(strides), {}});
    }
    if (tensor->holder.is_valid()) tensors_.push_back(std::move(*tensor));
}

// Sizes of broadcast arrays may multiply to anything: beyond max_bytes, all are alike.
std::int64_t Arguments::Awkward::bytes() const noexcept {
    std::optional<std::int64_t> bytes = static_cast<std::int64_t>(item_bytes);
    if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
    for (const std::int64_t size : sizes) {
        if (bytes) bytes = checked_multiply(*bytes, size);
    }
    return bytes.value_or(max_bytes);
}

std::int64_t Arguments::copied_bytes() const noexcept {
    std::optional<std::int64_t> total = 0;
    for (const Awkward& array : awkward_) {
        if (total) total = checked_add(*total, array.bytes());
    }
    return total.value_or(max_bytes);
}

void Arguments::copy(Run& run) {
    for (Awkward& array : awkward_) {
        array.copied = Pool::process().take(static_cast<std::size_t>(array.bytes()));
        copy_strided(array.copied.data(), array.data, array.sizes, array.strides,
                     array.item_bytes);
        run.set_input(array.input, array.copied.data());
    }
}

}  // namespace anyshape
