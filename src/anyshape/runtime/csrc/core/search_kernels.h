// Binary search in sorted rows, as kernels of the usual signature.
//
//     block: sorted, x, places, rows, length, count, right, shared
//
// places[rows, count] says how many elements of its row of sorted[rows, length] come before an
// element of x[rows, count]: those that are less, or with `right` no greater. Where `shared`, there
// is one row for all of them. A task is `search_task_elements` elements of x. A number that is none
// comes after all.
//
// Ownership and thread-safety: functions without state.
#pragma once

#include <cstdint>
#include <span>

#include "core/named_kernel.h"

namespace anyshape {

inline constexpr std::int64_t search_task_elements = 2048;

std::span<const NamedKernel> search_kernels() noexcept;

}  // namespace anyshape
