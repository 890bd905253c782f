// Places buffers in an arena: as low as possible, so that those which conflict do not overlap.
//
// Which buffers conflict is known at level 1; their sizes are known at level 2. Placing them is the
// last thing level 2 does, so it is greedy: a few orders are tried and the smallest arena wins.
//
// Ownership and thread-safety: plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace anyshape {

// The first and the last step that use a buffer.
struct Lifetime {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
};

// Which pairs of buffers must not share memory; symmetric, each neighbour once.
class ConflictGraph {
   public:
    ConflictGraph() : begins_(1, 0) {}
    ConflictGraph(std::size_t buffers,
                  std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs);

    std::size_t size() const noexcept { return begins_.size() - 1; }
    std::span<const std::uint32_t> neighbours(std::size_t buffer) const noexcept {
        return std::span(others_).subspan(begins_[buffer], begins_[buffer + 1] - begins_[buffer]);
    }

   private:
    std::vector<std::size_t> begins_;  // neighbours of b: others_[begins_[b] .. begins_[b + 1])
    std::vector<std::uint32_t> others_;
};

struct MemoryPlan {
    std::vector<std::int64_t> offsets;  // bytes into the arena, by buffer
    std::int64_t arena_bytes = 0;
};

// Sizes are 0 … max_bytes. Throws ImpossibleSize if the arena would be larger than max_bytes.
// `good_enough` ends the search: an arena of that size cannot be beaten.
MemoryPlan plan_memory(std::span<const std::int64_t> bytes, const ConflictGraph& conflicts,
                       std::span<const Lifetime> lifetimes, std::int64_t good_enough);

// The most bytes that live at one step: no plan takes less. (At most max_bytes.)
std::int64_t most_live_bytes(std::span<const std::int64_t> bytes,
                             std::span<const Lifetime> lifetimes);

}  // namespace anyshape
