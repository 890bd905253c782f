// Non-maximum suppression, as kernels of the usual signature.
//
//     block: boxes, order, candidates, threshold, kept, counts, workspace,
//            batch, classes, count, most
//
// A task is one class of one batch. Of boxes[batch, count, 4] (x1, y1, x2, y2) the first
// `candidates` of order[batch, classes, count] are looked at, one after the other: one is kept
// unless its overlap with one that is kept already, intersection over union, exceeds the threshold
// (f64). At most `most` are kept. Their indices are the first of kept[batch, classes, count], and
// counts[batch, classes] says how many there are. A worker's part of the workspace has
// `nms_workspace_numbers` numbers for each box, as a whole number of cache lines.
//
// Ownership and thread-safety: functions without state.
#pragma once

#include <cstdint>
#include <span>

#include "core/named_kernel.h"

namespace anyshape {

inline constexpr std::int64_t nms_workspace_numbers = 5;

std::span<const NamedKernel> nms_kernels() noexcept;

}  // namespace anyshape
