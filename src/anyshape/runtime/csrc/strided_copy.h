// Makes an array contiguous.
//
// Ownership and thread-safety: a function without state; source and destination do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anyshape {

// Copies elements of `item_bytes` in row-major order. Strides are in bytes, of any sign or zero, and
// nothing is assumed of the alignment of `from`. `sizes` and `strides` have one number per axis.
void copy_strided(std::byte* to, const std::byte* from, std::span<const std::int64_t> sizes,
                  std::span<const std::int64_t> strides, std::size_t item_bytes) noexcept;

}  // namespace anyshape
