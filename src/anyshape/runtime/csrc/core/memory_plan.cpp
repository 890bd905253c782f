#include "core/memory_plan.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/failures.h"
#include "core/size_math.h"

namespace anyshape {
namespace {

// Pairs up to which all are listed: then trying an order takes some ten nanoseconds for each, no
// more than a sweep for a few dozen buffers that are alive at once.
constexpr std::size_t few_pairs(std::size_t buffers) { return 16 * buffers + 2048; }

// Pairs of lifetimes with a step in common; nothing if there are too many.
std::optional<std::vector<BufferPair>> overlapping(std::span<const Lifetime> lifetimes,
                                                   std::span<const std::uint32_t> by_birth) {
    std::vector<BufferPair> pairs;
    std::vector<std::uint32_t> alive;
    for (const std::uint32_t buffer : by_birth) {
        const std::uint32_t first = lifetimes[buffer].first;
        std::erase_if(alive, [&](std::uint32_t other) { return lifetimes[other].last < first; });
        for (const std::uint32_t other : alive) pairs.emplace_back(other, buffer);
        if (pairs.size() > few_pairs(lifetimes.size())) return std::nullopt;
        alive.push_back(buffer);
    }
    return pairs;
}

std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0U);
    return all;
}

}  // namespace

Adjacency::Adjacency(std::size_t buffers, std::span<const BufferPair> pairs)
    : begins_(buffers + 1, 0) {
    std::vector<BufferPair> both(pairs.begin(), pairs.end());
    for (const auto& [a, b] : pairs) both.emplace_back(b, a);
    std::ranges::sort(both);
    both.erase(std::unique(both.begin(), both.end()), both.end());
    for (const auto& [a, b] : both) {
        ++begins_[a + 1];
        others_.push_back(b);
    }
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
}

Conflicts::Conflicts(std::vector<Lifetime> lifetimes, std::span<const BufferPair> named)
    : lifetimes_(std::move(lifetimes)),
      named_(lifetimes_.size(), named),
      by_birth_(numbers(lifetimes_.size())),
      by_death_(by_birth_) {
    std::ranges::stable_sort(by_birth_, {}, [&](auto i) { return lifetimes_[i].first; });
    std::ranges::stable_sort(by_death_, {}, [&](auto i) { return lifetimes_[i].last; });
    auto pairs = overlapping(lifetimes_, by_birth_);
    are_few_ = pairs.has_value();
    if (!are_few_) return;
    pairs->insert(pairs->end(), named.begin(), named.end());
    all_ = Adjacency(lifetimes_.size(), *pairs);
}

Conflicts Conflicts::in_order(std::vector<Lifetime> lifetimes) {
    Conflicts made;
    made.lifetimes_ = std::move(lifetimes);
    made.named_.begins_.assign(made.lifetimes_.size() + 1, 0);
    made.by_birth_ = numbers(made.lifetimes_.size());
    made.by_death_ = made.by_birth_;
    std::ranges::sort(made.by_death_, {}, [&](auto i) { return made.lifetimes_[i].last; });
    made.are_few_ = false;
    return made;
}

namespace {

constexpr std::int64_t not_placed = -1;

struct Extent {
    std::int64_t begin;
    std::int64_t end;

    std::int64_t size() const { return end - begin; }
};

[[noreturn]] void too_large() { throw ImpossibleSize("bytes of the arena, at least", max_bytes); }

std::int64_t checked_end(std::int64_t begin, std::int64_t bytes) {
    const auto end = checked_add(begin, bytes);
    if (!end) too_large();
    return *end;
}

// The parts of the arena that nobody uses, in ascending order, none next to another. The last one
// has no end.
class FreeList {
   public:
    void give_back(Extent extent) {
        auto after = std::ranges::lower_bound(gaps_, extent.begin, {}, &Extent::begin);
        const bool joins_after = after->begin == extent.end;
        const bool joins_before = after != gaps_.begin() && std::prev(after)->end == extent.begin;
        if (joins_after && joins_before) {
            std::prev(after)->end = after->end;
            gaps_.erase(after);
        } else if (joins_after) {
            after->begin = extent.begin;
        } else if (joins_before) {
            std::prev(after)->end = extent.end;
        } else {
            gaps_.insert(after, extent);
        }
    }

    // The lowest place of so many bytes that is not in one of the `avoided` extents, or that in the
    // smallest gap. The extents are in ascending order; each is over, but perhaps not for all.
    std::int64_t take(std::int64_t bytes, std::span<const Extent> avoided, bool smallest) {
        std::size_t chosen = gaps_.size();
        std::int64_t place = 0;
        for (std::size_t gap = 0; gap < gaps_.size(); ++gap) {
            if (gaps_[gap].size() < bytes) continue;
            if (chosen < gaps_.size() && gaps_[gap].size() >= gaps_[chosen].size()) continue;
            const auto found = place_in(gaps_[gap], bytes, avoided);
            if (!found) continue;
            chosen = gap;
            place = *found;
            if (!smallest) break;
        }
        if (chosen == gaps_.size()) too_large();
        cut(chosen, {place, checked_end(place, bytes)});
        return place;
    }

   private:
    // The last gap ends where nothing can be: whoever takes from it checks the end.
    static constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

    static std::optional<std::int64_t> place_in(const Extent& gap, std::int64_t bytes,
                                                std::span<const Extent> avoided) {
        std::int64_t place = gap.begin;
        for (const Extent& other : avoided) {
            if (other.end <= place) continue;
            if (other.begin - place >= bytes) break;
            place = other.end;
        }
        if (gap.end - place < bytes) return std::nullopt;
        return place;
    }

    void cut(std::size_t index, Extent taken) {
        const Extent gap = gaps_[index];
        const Extent before{gap.begin, taken.begin};
        const Extent after{taken.end, gap.end};
        const auto at = gaps_.begin() + static_cast<std::ptrdiff_t>(index);
        if (before.size() > 0 && after.size() > 0) {
            *at = after;
            gaps_.insert(at, before);
        } else if (before.size() > 0) {
            *at = before;
        } else if (after.size() > 0) {
            *at = after;
        } else {
            gaps_.erase(at);
        }
    }

    std::vector<Extent> gaps_ = {{0, endless}};
};

class Placement {
   public:
    Placement(std::span<const std::int64_t> bytes, const Conflicts& conflicts)
        : bytes_(bytes), conflicts_(conflicts) {
        plan_.offsets.resize(bytes.size());
    }

    // In the order of their birth, large ones first: chains of equal sizes pack best that way.
    const MemoryPlan& sweep(bool smallest_gap) {
        start();
        const auto lives = conflicts_.lifetimes();
        const auto by_death = conflicts_.by_death();
        std::vector<std::uint32_t> order(conflicts_.by_birth().begin(),
                                         conflicts_.by_birth().end());
        FreeList free;
        std::size_t dead = 0;
        for (auto group = order.begin(); group != order.end();) {
            const std::uint32_t step = lives[*group].first;
            const auto end =
                std::find_if(group, order.end(), [&](auto i) { return lives[i].first != step; });
            std::stable_sort(group, end, [&](auto a, auto b) { return bytes_[a] > bytes_[b]; });
            for (; dead < by_death.size() && lives[by_death[dead]].last < step; ++dead) {
                if (bytes_[by_death[dead]] > 0) free.give_back(extent(by_death[dead]));
            }
            for (; group != end; ++group) {
                if (bytes_[*group] == 0) {
                    note(*group, 0);
                    continue;
                }
                const auto avoided = placed(conflicts_.named(*group));
                note(*group, free.take(align_up(bytes_[*group]), avoided, smallest_gap));
            }
        }
        return plan_;
    }

    // Where all conflicts are listed. Stops early, with an arena no smaller than `limit`, once it
    // cannot become smaller.
    const MemoryPlan& place(std::span<const std::uint32_t> order, std::int64_t limit) {
        start();
        for (const std::uint32_t buffer : order) {
            note(buffer, lowest(buffer));
            if (plan_.arena_bytes >= limit) break;
        }
        return plan_;
    }

   private:
    void start() {
        std::ranges::fill(plan_.offsets, not_placed);
        plan_.arena_bytes = 0;
    }

    void note(std::uint32_t buffer, std::int64_t offset) {
        const std::int64_t end = checked_end(offset, align_up(bytes_[buffer]));
        plan_.offsets[buffer] = offset;
        plan_.arena_bytes = std::max(plan_.arena_bytes, end);
    }

    // First fit: the lowest gap between the conflicting buffers that are already there.
    std::int64_t lowest(std::uint32_t buffer) {
        const std::int64_t bytes = align_up(bytes_[buffer]);
        std::int64_t offset = 0;
        if (bytes == 0) return offset;
        for (const Extent& taken : placed(conflicts_.all(buffer))) {
            if (taken.begin - offset >= bytes) break;
            offset = std::max(offset, taken.end);
        }
        return offset;
    }

    Extent extent(std::uint32_t buffer) const {
        const std::int64_t offset = plan_.offsets[buffer];
        return {offset, offset + align_up(bytes_[buffer])};
    }

    // Where those of the buffers are that have a place, in ascending order.
    std::span<const Extent> placed(std::span<const std::uint32_t> buffers) {
        taken_.clear();
        for (const std::uint32_t other : buffers) {
            if (plan_.offsets[other] == not_placed || bytes_[other] == 0) continue;
            taken_.push_back(extent(other));
        }
        std::ranges::sort(taken_, {}, &Extent::begin);
        return taken_;
    }

    std::span<const std::int64_t> bytes_;
    const Conflicts& conflicts_;
    MemoryPlan plan_;
    std::vector<Extent> taken_;
};

}  // namespace

MemoryPlan plan_memory(std::span<const std::int64_t> bytes, const Conflicts& conflicts,
                       std::int64_t good_enough) {
    Placement placement(bytes, conflicts);
    MemoryPlan best = placement.sweep(false);
    const auto keep_if_smaller = [&](const MemoryPlan& plan) {
        if (plan.arena_bytes < best.arena_bytes) best = plan;
    };
    if (best.arena_bytes <= good_enough) return best;
    if (!conflicts.are_few()) {
        keep_if_smaller(placement.sweep(true));
        return best;
    }

    // Large buffers first: the small ones then fill the gaps.
    const auto lifetimes = conflicts.lifetimes();
    std::vector<std::uint32_t> order = numbers(bytes.size());
    const auto larger = [&](std::uint32_t a, std::uint32_t b) {
        if (bytes[a] != bytes[b]) return bytes[a] > bytes[b];
        return lifetimes[a].first < lifetimes[b].first;
    };
    std::ranges::sort(order, larger);
    keep_if_smaller(placement.place(order, best.arena_bytes));
    if (best.arena_bytes <= good_enough) return best;

    // Long-lived buffers at the bottom, where they do not cut the rest in two.
    const auto longer = [&](std::uint32_t a, std::uint32_t b) {
        const auto length = [&](std::uint32_t i) { return lifetimes[i].last - lifetimes[i].first; };
        if (length(a) != length(b)) return length(a) > length(b);
        return larger(a, b);
    };
    std::ranges::sort(order, longer);
    keep_if_smaller(placement.place(order, best.arena_bytes));
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
