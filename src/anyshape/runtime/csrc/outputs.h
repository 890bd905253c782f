// The results of one call, as NumPy arrays on memory of the pool. Binding layer.
//
// Ownership: an array owns its memory and returns it to the pool when it dies.
// Thread-safety: needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>

namespace anyshape {

// Must be called once before anything else; raises ImportError if NumPy is missing or too old.
void import_numpy();

nanobind::object new_output(nanobind::handle dtype, std::span<const std::int64_t> dims,
                            std::int64_t bytes);
void* data_of(nanobind::handle output) noexcept;

// Memory of a run as an array of bytes; `owner` lives as long as the array.
nanobind::object byte_view(std::byte* data, std::int64_t bytes, nanobind::handle owner);

}  // namespace anyshape
