// Worklists, as kernels of the usual signature: rows sorted by the group that a key names.
//
//     block: keys, order, ends, position, source, workspace, tokens, choices, groups, capacity
//
// Every key of keys[tokens, choices] is a row. The one task counts the rows of each group, and then
// puts every row behind those of its group that came before it: order[rows], with the end of each
// group in ends[groups], the place of each row in position[rows] and its token in source[rows]. Of a group, `capacity` rows are taken; the others, and rows whose key is no
// group, come behind the last group, in their order. A worker's part of the workspace has a word for
// each group, as a whole number of cache lines.
//
// Ownership and thread-safety: functions without state.
#pragma once

#include <span>

#include "core/named_kernel.h"

namespace anyshape {

std::span<const NamedKernel> worklist_kernels() noexcept;

}  // namespace anyshape
