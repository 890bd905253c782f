// Proves a memory plan from its definition, sharing no code with the planner. For tests.
//
// Ownership and thread-safety: a pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace anyshape {

// Every buffer lies in the arena and on a 64-byte boundary, and no two of a conflicting pair share
// a byte. Returns what is wrong; nothing if the plan is right.
std::optional<std::string> wrong_with_plan(
    std::span<const std::int64_t> bytes,
    std::span<const std::pair<std::uint32_t, std::uint32_t>> conflicts,
    std::span<const std::int64_t> offsets, std::int64_t arena_bytes);

}  // namespace anyshape
