// Makes an array contiguous.
//
// Ownership and thread-safety: a function without state; source and destination do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anyshape {

// Copies elements of `item_bytes` in row-major order. `sizes` and `strides` have one number per
// axis. Strides are in bytes, of any sign or zero; `from` may be aligned to nothing.
void copy_strided(std::byte* to, const std::byte* from, std::span<const std::int64_t> sizes,
                  std::span<const std::int64_t> strides, std::size_t item_bytes) noexcept;

}  // namespace anyshape
