// Sorting, as kernels of the usual signature: what generated loops do badly.
//
//     block: x, values, places, workspace, outer, length, inner, kept, descending
//
// A task is one row of x[outer, length, inner] along its middle axis. The first `kept` elements of
// the sorted row go to values[outer, kept, inner], and where they were to places (int64). Equal
// elements keep their order; NaN is greater than any number; zeros of either sign are equal. A
// worker's part of the workspace has `sort_workspace_bytes` for each element of a row, as a whole
// number of cache lines.
//
// Ownership and thread-safety: functions without state.
#pragma once

#include <cstdint>
#include <span>

#include "core/named_kernel.h"

namespace anyshape {

inline constexpr std::int64_t sort_workspace_bytes = 16;

std::span<const NamedKernel> sort_kernels() noexcept;

}  // namespace anyshape
