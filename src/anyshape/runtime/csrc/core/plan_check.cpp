#include "core/plan_check.h"

#include <algorithm>

namespace anyshape {
namespace {

std::string name(std::size_t buffer) { return "buffer " + std::to_string(buffer); }
std::string step_name(std::size_t step) { return "step " + std::to_string(step); }

bool overlap(const MemoryRange& a, const MemoryRange& b) {
    return a.base == b.base && a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes &&
           b.offset < a.offset + a.bytes;
}

bool same(const MemoryRange& a, const MemoryRange& b) {
    return a.base == b.base && a.offset == b.offset && a.bytes == b.bytes;
}

class AccessChecker {
   public:
    AccessChecker(std::span<const StepAccess> steps, std::span<const MemoryRange> ranges,
                  std::uint32_t window)
        : steps_(steps), ranges_(ranges), window_(window), users_(ranges.size()) {}

    std::optional<std::string> check() {
        order_steps();
        for (std::size_t step = 0; step < steps_.size(); ++step) {
            if (auto problem = note_accesses(step)) return problem;
        }
        for (std::uint32_t b = 0; b < ranges_.size(); ++b) {
            for (std::uint32_t a = 0; a < b; ++a) {
                if (may_share(a, b)) continue;
                return name(a) + " and " + name(b) + " share memory while both are in use";
            }
        }
        return std::nullopt;
    }

   private:
    void order_steps() {
        for (std::size_t step = 0; step < steps_.size(); ++step) {
            std::vector<bool> before(steps_.size(), false);
            for (std::size_t other = 0; other + window_ <= step; ++other) before[other] = true;
            for (const std::uint32_t wait : steps_[step].waits) {
                before[wait] = true;
                for (std::size_t i = 0; i < wait; ++i) before[i] = before[i] || before_[wait][i];
            }
            before_.push_back(std::move(before));
        }
    }

    std::optional<std::string> note_accesses(std::size_t step) {
        for (const std::uint32_t buffer : steps_[step].reads) {
            auto& users = users_[buffer];
            if (!users.empty() && is_made(buffer) && !before_[step][users.front()]) {
                return step_name(step) + " does not wait for " + name(buffer);
            }
            users.push_back(step);
        }
        for (const std::uint32_t buffer : steps_[step].writes) {
            if (!users_[buffer].empty()) return name(buffer) + " is used before it is written";
            users_[buffer].push_back(step);
        }
        return std::nullopt;
    }

    bool is_written_by(std::size_t step, std::uint32_t buffer) const {
        return std::ranges::count(steps_[step].writes, buffer) > 0;
    }

    bool may_share(std::uint32_t a, std::uint32_t b) const {
        if (users_[a].empty() || users_[b].empty()) return true;
        const bool only_read = !is_made(a) && !is_made(b);
        return only_read || !overlap(ranges_[a], ranges_[b]) || is_over(a, b) || is_over(b, a);
    }

    // Whether some step writes it, which is then the first that uses it.
    bool is_made(std::uint32_t buffer) const {
        return is_written_by(users_[buffer].front(), buffer);
    }

    // Every use of `first` is done when `second` is written, or is its writer's reading in place.
    // What no step makes is the caller's, and never over.
    bool is_over(std::uint32_t first, std::uint32_t second) const {
        if (!is_made(first) || !is_made(second)) return false;
        const std::size_t writer = users_[second].front();
        return std::ranges::all_of(users_[first], [&](std::size_t user) {
            return user == writer ? is_in_place(user, first, second) : before_[writer][user];
        });
    }

    bool is_in_place(std::size_t step, std::uint32_t read, std::uint32_t written) const {
        const auto& pairs = steps_[step].in_place;
        return !is_written_by(step, read) && same(ranges_[read], ranges_[written]) &&
               std::ranges::count(pairs, std::pair(read, written)) > 0;
    }

    std::span<const StepAccess> steps_;
    std::span<const MemoryRange> ranges_;
    const std::size_t window_;
    std::vector<std::vector<bool>> before_;        // by step: those that are done when it starts
    std::vector<std::vector<std::size_t>> users_;  // by buffer: its writer, then its readers
};

}  // namespace

std::optional<std::string> wrong_with_plan(
    std::span<const std::int64_t> bytes,
    std::span<const std::pair<std::uint32_t, std::uint32_t>> conflicts,
    std::span<const std::int64_t> offsets, std::int64_t arena_bytes) {
    if (offsets.size() != bytes.size()) return "not one offset for each buffer";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (offsets[i] < 0) return name(i) + " lies before the arena";
        if (offsets[i] % 64 != 0) return name(i) + " is not aligned";
        if (offsets[i] > arena_bytes - bytes[i]) return name(i) + " ends after the arena";
    }
    for (const auto& [a, b] : conflicts) {
        const bool a_before_b = offsets[a] + bytes[a] <= offsets[b];
        const bool b_before_a = offsets[b] + bytes[b] <= offsets[a];
        const bool one_is_empty = bytes[a] == 0 || bytes[b] == 0;
        if (!a_before_b && !b_before_a && !one_is_empty) {
            return name(a) + " and " + name(b) + " overlap";
        }
    }
    return std::nullopt;
}

std::optional<std::string> wrong_with_accesses(std::span<const StepAccess> steps,
                                               std::span<const MemoryRange> ranges,
                                               std::uint32_t window) {
    return AccessChecker(steps, ranges, window).check();
}

}  // namespace anyshape
