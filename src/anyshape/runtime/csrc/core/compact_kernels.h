// Compaction, as kernels of the usual signature: which elements are not zero, and rows that a mask
// selects, in order.
//
//     part_counts:     x, counts, size, parts, length
//     compact_places:  x, counts, places, count, size, parts, length, rank, axes...
//     compact_rows:    mask, x, counts, rows, count, size, parts, length, width
//
// `size` elements are divided into `parts` of `length`; where there are none, they are one task and
// `counts` is empty. `part_counts` writes how many elements of each part are not zero, so that the
// tasks of the others know where their results begin. `places` has as many rows as there are
// elements, each with an index for each axis (`axes` are the sizes of all); a row of `rows` has
// `width` elements. The first `count` rows are written, and no others.
//
// Ownership and thread-safety: functions without state; tasks write rows of their own.
#pragma once

#include <span>

#include "core/named_kernel.h"

namespace anyshape {

std::span<const NamedKernel> compact_kernels() noexcept;

}  // namespace anyshape
