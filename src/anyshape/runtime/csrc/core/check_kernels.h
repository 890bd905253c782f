// Checks of values, as kernels of the usual signature: the first element outside of a range.
//
//     block: x, earlier, offence, count, number, size, from_end, live
//
// The one task writes an offence of four words: the number of the check, the position of the first
// element of x[count] outside 0..size-1 (from_end: -size..size-1), that element, and the size. If
// there is none, or `live` is 0, the number is -1. An offence in `earlier` stays.
//
// Ownership and thread-safety: functions without state.
#pragma once

#include <span>

#include "core/named_kernel.h"

namespace anyshape {

std::span<const NamedKernel> check_kernels() noexcept;

}  // namespace anyshape
