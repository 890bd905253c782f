// Chains of kernels, as a kernel of the usual signature: a task takes one tile of rows through all
// members, so that what one member writes for the next stays in a worker's own cache.
//
//     block:      members, rows, tile, then the members
//     member:     kernel, its tasks in a whole tile and in the last one, and how many there are of
//                 buffers, workspaces and sizes, which follow in this order
//     buffer:     its address, and the bytes between rows and between slices of workers
//     workspace:  its address, and the bytes that a slice has more than the kernel takes it to have,
//                 in a whole tile and in the last one: kernels find their slice themselves
//     size:       in a whole tile, and in the last one
//
// A member is called with a block of its own for each tile: sizes are those of the tile, operands
// that have rows begin at its first row, and what members hand on lies in the worker's own memory.
// The last tile is the one that has fewer rows than the others.
//
// Ownership and thread-safety: functions without state.
#pragma once

#include <cstddef>
#include <span>

#include "core/named_kernel.h"

namespace anyshape {

// No member has more words; whoever makes a block keeps to that.
inline constexpr std::size_t max_member_words = 64;

std::span<const NamedKernel> chain_kernels() noexcept;

}  // namespace anyshape
