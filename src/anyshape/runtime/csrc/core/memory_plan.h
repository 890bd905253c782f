// Places buffers in an arena: as low as possible, so that those which conflict do not overlap.
//
// Which buffers conflict is known at level 1; their sizes are known at level 2. Placing them is the
// last thing level 2 does, so it is greedy and of a length that grows with the number of buffers: a
// sweep over the steps with a list of free gaps. Where few buffers are alive together, other orders
// are tried too, and the smallest arena wins.
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

using BufferPair = std::pair<std::uint32_t, std::uint32_t>;

// For each buffer a list of others.
class Adjacency {
   public:
    Adjacency() : begins_(1, 0) {}
    // Symmetric. Each other buffer once, if each pair is there once, in either order.
    Adjacency(std::size_t buffers, std::span<const BufferPair> pairs);

    std::span<const std::uint32_t> of(std::size_t buffer) const noexcept {
        return std::span(others_).subspan(begins_[buffer], begins_[buffer + 1] - begins_[buffer]);
    }

   private:
    friend class Conflicts;
    std::vector<std::size_t> begins_;  // those of b: others_[begins_[b] .. begins_[b + 1])
    std::vector<std::uint32_t> others_;
};

// Which buffers must not share memory: those whose lifetimes have a step in common, and the pairs
// that are named. The former are as many as pairs that are alive together, so they are only listed
// where these are few.
class Conflicts {
   public:
    Conflicts() = default;
    Conflicts(std::vector<Lifetime> lifetimes, std::span<const BufferPair> named);

    // Of lifetimes in the order of their first steps: none are named, and none listed as yet.
    static Conflicts in_order(std::vector<Lifetime> lifetimes);
    // Lists all that conflict, with the named pairs, if they are few.
    void list(std::span<const BufferPair> named);

    std::span<const Lifetime> lifetimes() const noexcept { return lifetimes_; }
    std::span<const std::uint32_t> named(std::size_t buffer) const noexcept {
        return named_.of(buffer);
    }

    // All buffers, by their first and by their last step.
    std::span<const std::uint32_t> by_birth() const noexcept { return by_birth_; }
    std::span<const std::uint32_t> by_death() const noexcept { return by_death_; }

    bool are_few() const noexcept { return are_few_; }
    // All that conflict with a buffer, if they are few.
    std::span<const std::uint32_t> all(std::size_t buffer) const noexcept {
        return all_.of(buffer);
    }

   private:
    std::vector<Lifetime> lifetimes_;
    Adjacency named_;
    Adjacency all_;
    std::vector<std::uint32_t> by_birth_;
    std::vector<std::uint32_t> by_death_;
    bool are_few_ = true;
};

struct MemoryPlan {
    std::vector<std::int64_t> offsets;  // bytes into the arena, by buffer
    std::int64_t arena_bytes = 0;
};

// Sizes are 0 … max_bytes. Throws ImpossibleSize if the arena would be larger than max_bytes.
// `good_enough` ends the search: an arena of that size cannot be beaten.
MemoryPlan plan_memory(std::span<const std::int64_t> bytes, const Conflicts& conflicts,
                       std::int64_t good_enough);

// As plan_memory, of lifetimes in the order of their first steps. Orders of buffers other than that
// of their birth, which take much longer, are tried only where `are_orders_tried` says so.
MemoryPlan plan_in_order(std::span<const std::int64_t> bytes, std::vector<Lifetime> lifetimes,
                         std::int64_t good_enough, bool are_orders_tried);

// The most bytes that live at one step: no plan takes less. (At most max_bytes.)
std::int64_t most_live_bytes(std::span<const std::int64_t> bytes,
                             std::span<const Lifetime> lifetimes);

}  // namespace anyshape
