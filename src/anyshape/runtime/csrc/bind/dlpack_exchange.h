// Reads tensors of other libraries through DLPack. Binding layer.
//
// Libraries with DLPack 1.3 or later have a table of C functions on their tensor type, which takes
// a tenth of a microsecond; `__dlpack__()`, a Python method, takes several.
//
// Ownership: a Tensor refers to memory of the Python object, or of `holder` if there is one.
// Thread-safety: needs the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>

namespace anyshape {

// dltensor: address of the first element is data + byte_offset; strides count elements.
struct Tensor {
    nanobind::dlpack::dltensor view;
    nanobind::ndarray<nanobind::ro> holder;  // valid if the slow way was taken
};

// Nothing if the object is no tensor, or not in this machine's memory.
std::optional<Tensor> read_tensor(nanobind::handle object);

// Whether a tensor that can be read may be written, too. Only tables are a promise of that: their
// views share memory with the tensor, and cannot say that it is read-only.
bool is_writeable_tensor(nanobind::handle object) noexcept;

}  // namespace anyshape
