#include "memory_plan.h"

#include <algorithm>
#include <numeric>

#include "failures.h"
#include "size_math.h"

namespace anyshape {

ConflictGraph::ConflictGraph(std::size_t buffers,
                             std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs)
    : begins_(buffers + 1, 0) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> both(pairs.begin(), pairs.end());
    for (const auto& [a, b] : pairs) both.emplace_back(b, a);
    std::ranges::sort(both);
    both.erase(std::unique(both.begin(), both.end()), both.end());
    for (const auto& [a, b] : both) {
        ++begins_[a + 1];
        others_.push_back(b);
    }
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
}

namespace {

constexpr std::int64_t not_placed = -1;

struct Extent {
    std::int64_t begin;
    std::int64_t end;
};

class Placement {
   public:
    Placement(std::span<const std::int64_t> bytes, const ConflictGraph& conflicts)
        : bytes_(bytes), conflicts_(conflicts) {
        plan_.offsets.resize(bytes.size());
    }

    // Stops early, with an arena no smaller than `limit`, once it cannot become smaller.
    const MemoryPlan& place(std::span<const std::uint32_t> order, std::int64_t limit) {
        std::ranges::fill(plan_.offsets, not_placed);
        plan_.arena_bytes = 0;
        for (const std::uint32_t buffer : order) {
            place_one(buffer);
            if (plan_.arena_bytes >= limit) break;
        }
        return plan_;
    }

   private:
    // First fit: the lowest gap between the conflicting buffers that are already there.
    void place_one(std::uint32_t buffer) {
        const std::int64_t bytes = align_up(bytes_[buffer]);
        std::int64_t offset = 0;
        if (bytes > 0) {
            for (const Extent& taken : taken_by_neighbours(buffer)) {
                if (taken.begin - offset >= bytes) break;
                offset = std::max(offset, taken.end);
            }
        }
        const auto end = checked_add(offset, bytes);
        if (!end) throw ImpossibleSize("bytes of the arena, at least", max_bytes);
        plan_.offsets[buffer] = offset;
        plan_.arena_bytes = std::max(plan_.arena_bytes, *end);
    }

    std::span<const Extent> taken_by_neighbours(std::uint32_t buffer) {
        taken_.clear();
        for (const std::uint32_t other : conflicts_.neighbours(buffer)) {
            const std::int64_t offset = plan_.offsets[other];
            if (offset == not_placed || bytes_[other] == 0) continue;
            taken_.push_back({offset, offset + align_up(bytes_[other])});
        }
        std::ranges::sort(taken_, {}, &Extent::begin);
        return taken_;
    }

    std::span<const std::int64_t> bytes_;
    const ConflictGraph& conflicts_;
    MemoryPlan plan_;
    std::vector<Extent> taken_;
};

}  // namespace

MemoryPlan plan_memory(std::span<const std::int64_t> bytes, const ConflictGraph& conflicts,
                       std::span<const Lifetime> lifetimes, std::int64_t good_enough) {
    std::vector<std::uint32_t> order(bytes.size());
    std::iota(order.begin(), order.end(), 0U);
    Placement placement(bytes, conflicts);

    // Large buffers first: the small ones then fill the gaps.
    const auto larger = [&](std::uint32_t a, std::uint32_t b) {
        if (bytes[a] != bytes[b]) return bytes[a] > bytes[b];
        return lifetimes[a].first < lifetimes[b].first;
    };
    std::ranges::sort(order, larger);
    MemoryPlan best = placement.place(order, max_bytes + 1);
    const auto try_order = [&] {
        if (best.arena_bytes <= good_enough) return;
        const MemoryPlan& plan = placement.place(order, best.arena_bytes);
        if (plan.arena_bytes < best.arena_bytes) best = plan;
    };

    // As they are born: chains of equal sizes pack best that way.
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
        const std::uint32_t born_a = lifetimes[a].first;
        const std::uint32_t born_b = lifetimes[b].first;
        return born_a != born_b ? born_a < born_b : bytes[a] > bytes[b];
    };
    std::ranges::sort(order, earlier);
    try_order();

    // Long-lived buffers at the bottom, where they do not cut the rest in two.
    const auto longer = [&](std::uint32_t a, std::uint32_t b) {
        const auto length = [&](std::uint32_t i) { return lifetimes[i].last - lifetimes[i].first; };
        if (length(a) != length(b)) return length(a) > length(b);
        return larger(a, b);
    };
    if (best.arena_bytes > good_enough) std::ranges::sort(order, longer);
    try_order();
    return best;
}

std::int64_t most_live_bytes(std::span<const std::int64_t> bytes,
                             std::span<const Lifetime> lifetimes) {
    std::uint32_t steps = 0;
    for (const Lifetime& lifetime : lifetimes) steps = std::max(steps, lifetime.last + 1);
    // Sums of sizes that each fit, and may not fit together: 2^32 buffers of 2^62 fit in 128 bits.
    std::vector<__int128> change(steps + 1, 0);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        change[lifetimes[i].first] += align_up(bytes[i]);
        change[lifetimes[i].last + 1] -= align_up(bytes[i]);
    }
    __int128 live = 0;
    __int128 most = 0;
    for (const __int128 delta : change) most = std::max(most, live += delta);
    return static_cast<std::int64_t>(std::min<__int128>(most, max_bytes));
}

}  // namespace anyshape
