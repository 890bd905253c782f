// Proves memory plans from their definition, sharing no code with the planner. For tests.
//
// Ownership and thread-safety: pure functions. They return what is wrong; nothing if all is right.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace anyshape {

// Every buffer lies in the arena and on a 64-byte boundary, and no two of a conflicting pair share
// a byte.
std::optional<std::string> wrong_with_plan(
    std::span<const std::int64_t> bytes,
    std::span<const std::pair<std::uint32_t, std::uint32_t>> conflicts,
    std::span<const std::int64_t> offsets, std::int64_t arena_bytes);

// What one step does to memory. `in_place` are pairs of a buffer that is read and one that is
// written, which may be the same memory: each element is read before it is written.
struct StepAccess {
    std::vector<std::uint32_t> reads;
    std::vector<std::uint32_t> writes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> in_place;
    std::vector<std::uint32_t> waits;
};

struct MemoryRange {
    std::uint32_t base = 0;  // ranges of different bases share nothing
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
};

// However threads interleave the steps, every step reads what the writer of its operand wrote, and
// nobody else writes there in between. A step starts when its waits are done, and so are all steps
// that are `window` or more before it; nothing else is known of the order.
std::optional<std::string> wrong_with_accesses(std::span<const StepAccess> steps,
                                               std::span<const MemoryRange> ranges,
                                               std::uint32_t window);

}  // namespace anyshape
