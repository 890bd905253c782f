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
    pairs.reserve(4 * lifetimes.size());
    alive.reserve(lifetimes.size());
    std::uint32_t step = 0;
    for (const std::uint32_t buffer : by_birth) {
        const std::uint32_t first = lifetimes[buffer].first;
        if (std::exchange(step, first) != first) {
            std::erase_if(alive, [&](auto other) { return lifetimes[other].last < first; });
        }
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

// Buffers by a step of their lifetimes, those of one step by number.
std::vector<std::uint32_t> sorted_by(std::uint32_t Lifetime::*step,
                                     std::span<const Lifetime> lifetimes) {
    std::vector<std::uint32_t> all = numbers(lifetimes.size());
    const auto key = [&](std::uint32_t i) { return lifetimes[i].*step; };
    if (std::ranges::is_sorted(all, {}, key)) return all;
    std::ranges::sort(all, [&](std::uint32_t a, std::uint32_t b) {
        return key(a) != key(b) ? key(a) < key(b) : a < b;
    });
    return all;
}

// Each pair once, the lesser number first.
std::vector<BufferPair> without_repetitions(std::vector<BufferPair> pairs) {
    for (auto& [a, b] : pairs) {
        if (b < a) std::swap(a, b);
    }
    std::ranges::sort(pairs);
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    return pairs;
}

}  // namespace

Adjacency::Adjacency(std::size_t buffers, std::span<const BufferPair> pairs)
    : begins_(buffers + 1, 0), others_(2 * pairs.size()) {
    for (const auto& [a, b] : pairs) {
        ++begins_[a];
        ++begins_[b];
    }
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    for (const auto& [a, b] : pairs) {  // from the end of each list, which becomes its begin
        others_[--begins_[a]] = b;
        others_[--begins_[b]] = a;
    }
}

Conflicts::Conflicts(std::vector<Lifetime> lifetimes, std::span<const BufferPair> named)
    : lifetimes_(std::move(lifetimes)),
      by_birth_(sorted_by(&Lifetime::first, lifetimes_)),
      by_death_(sorted_by(&Lifetime::last, lifetimes_)) {
    const auto pairs = without_repetitions({named.begin(), named.end()});
    named_ = Adjacency(lifetimes_.size(), pairs);
    list(pairs);
}

Conflicts Conflicts::in_order(std::vector<Lifetime> lifetimes) {
    Conflicts made;
    made.lifetimes_ = std::move(lifetimes);
    made.named_.begins_.assign(made.lifetimes_.size() + 1, 0);
    made.by_birth_ = numbers(made.lifetimes_.size());
    made.by_death_ = sorted_by(&Lifetime::last, made.lifetimes_);
    made.are_few_ = false;
    return made;
}

void Conflicts::list(std::span<const BufferPair> named) {
    auto pairs = overlapping(lifetimes_, by_birth_);
    are_few_ = pairs.has_value();
    if (!are_few_) return;
    if (!named.empty()) {
        pairs->insert(pairs->end(), named.begin(), named.end());
        pairs = without_repetitions(std::move(*pairs));
    }
    all_ = Adjacency(lifetimes_.size(), *pairs);
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
        order_.assign(conflicts_.by_birth().begin(), conflicts_.by_birth().end());
        FreeList free;
        std::size_t dead = 0;
        for (auto group = order_.begin(); group != order_.end();) {
            const std::uint32_t step = lives[*group].first;
            const auto end =
                std::find_if(group, order_.end(), [&](auto i) { return lives[i].first != step; });
            sort_by_size(group, end);
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
    using Position = std::vector<std::uint32_t>::iterator;

    // Large ones first, others in the order that they have. Most groups are of one or two.
    void sort_by_size(Position group, Position end) const {
        if (end - group < 2) return;
        const auto is_larger = [&](auto a, auto b) { return bytes_[a] > bytes_[b]; };
        if (end - group > 2) return std::stable_sort(group, end, is_larger);
        if (is_larger(group[1], group[0])) std::swap(group[0], group[1]);
    }

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
    std::vector<std::uint32_t> order_;
    std::vector<Extent> taken_;
};

// The smallest plan that was seen.
class Best {
   public:
    Best(Placement& placement, std::int64_t good_enough)
        : placement_(placement), good_enough_(good_enough), plan_(placement.sweep(false)) {}

    bool is_good_enough() const { return plan_.arena_bytes <= good_enough_; }
    void sweep() { keep(placement_.sweep(true)); }
    void place(std::span<const std::uint32_t> order) {
        keep(placement_.place(order, plan_.arena_bytes));
    }
    MemoryPlan take() && { return std::move(plan_); }

   private:
    void keep(const MemoryPlan& plan) {
        if (plan.arena_bytes < plan_.arena_bytes) plan_ = plan;
    }

    Placement& placement_;
    const std::int64_t good_enough_;
    MemoryPlan plan_;
};

// Where all conflicts are listed.
void try_orders(Best& best, std::span<const std::int64_t> bytes,
                std::span<const Lifetime> lifetimes) {
    // Large buffers first: the small ones then fill the gaps.
    std::vector<std::uint32_t> order = numbers(bytes.size());
    const auto larger = [&](std::uint32_t a, std::uint32_t b) {
        if (bytes[a] != bytes[b]) return bytes[a] > bytes[b];
        return lifetimes[a].first < lifetimes[b].first;
    };
    std::ranges::sort(order, larger);
    best.place(order);
    if (best.is_good_enough()) return;

    // Long-lived buffers at the bottom, where they do not cut the rest in two.
    const auto longer = [&](std::uint32_t a, std::uint32_t b) {
        const auto length = [&](std::uint32_t i) { return lifetimes[i].last - lifetimes[i].first; };
        if (length(a) != length(b)) return length(a) > length(b);
        return larger(a, b);
    };
    std::ranges::sort(order, longer);
    best.place(order);
}

}  // namespace

MemoryPlan plan_memory(std::span<const std::int64_t> bytes, const Conflicts& conflicts,
                       std::int64_t good_enough) {
    Placement placement(bytes, conflicts);
    Best best(placement, good_enough);
    if (best.is_good_enough()) return std::move(best).take();
    if (conflicts.are_few()) {
        try_orders(best, bytes, conflicts.lifetimes());
    } else {
        best.sweep();
    }
    return std::move(best).take();
}

MemoryPlan plan_in_order(std::span<const std::int64_t> bytes, std::vector<Lifetime> lifetimes,
                         std::int64_t good_enough, bool are_orders_tried) {
    Conflicts conflicts = Conflicts::in_order(std::move(lifetimes));
    Placement placement(bytes, conflicts);
    Best best(placement, good_enough);
    if (!best.is_good_enough()) best.sweep();
    if (best.is_good_enough() || !are_orders_tried) return std::move(best).take();
    conflicts.list({});
    if (conflicts.are_few()) try_orders(best, bytes, conflicts.lifetimes());
    return std::move(best).take();
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
