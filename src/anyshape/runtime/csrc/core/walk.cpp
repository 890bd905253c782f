#include "core/walk.h"

#include <algorithm>
#include <bit>
#include <thread>

#include "core/team.h"

namespace anyshape {
namespace {

// Of about a millisecond, by the step's own estimate.
std::int64_t tasks_between_looks(const ReadyStep& step) noexcept {
    constexpr double picoseconds = 1e9;
    if (step.cost <= 0) return std::max<std::int64_t>(1, step.tasks / step.ranges);
    const double tasks = static_cast<double>(step.tasks) * picoseconds;
    const double share = tasks / static_cast<double>(step.cost);
    if (share >= static_cast<double>(step.tasks)) return step.tasks;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(share));
}

// The bits of the first ranges.
std::uint64_t first_bits(int count) noexcept {
    return count == max_ranges ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// Of our own, the first; of others, the last, which they would come to last.
int next_range(std::uint64_t left, std::uint64_t own) noexcept {
    if ((left & own) != 0) return std::countr_zero(left & own);
    return max_ranges - 1 - std::countl_zero(left);
}

}  // namespace

void Walk::alone() const noexcept {
    for (const ReadyStep& step : steps_) {
        if (!run(step, 0, step.tasks, 0)) return;
    }
}

// False if it was stopped.
bool Walk::run(const ReadyStep& step, std::int64_t first, std::int64_t last,
               int worker) const noexcept {
    if (step.kernel == nullptr) return true;
    if (trace_ == nullptr) return run_tasks(step, first, last, worker);
    const std::int64_t begin = TaskTrace::now();
    const bool done = run_tasks(step, first, last, worker);
    trace_->add(step.number, first, last, worker, begin, TaskTrace::now());
    return done;
}

bool Walk::run_tasks(const ReadyStep& step, std::int64_t first, std::int64_t last,
                     int worker) const noexcept {
    if (stop_ == nullptr) {
        step.kernel(blocks_ + step.block, first, last, worker);
        return true;
    }
    const std::int64_t length = tasks_between_looks(step);
    for (; first < last; first += length) {
        if (stopped(worker)) return false;
        step.kernel(blocks_ + step.block, first, std::min(first + length, last), worker);
    }
    return true;
}

void Walk::reset() noexcept {
    for (StepProgress& step : progress_) {
        step.taken.store(0, std::memory_order_relaxed);
        step.done.store(0, std::memory_order_relaxed);
    }
}

void Walk::together(int worker) noexcept {
    constexpr int patience = 4096;
    int idle_looks = 0;
    std::size_t open = 0;  // the first step that is not known to be done
    for (std::size_t step = 0; step < steps_.size();) {
        if (all_taken_.load(std::memory_order_relaxed) || stopped(worker)) return;
        if (taken(step)) {
            ++step;
            continue;
        }
        while (open < step && done(open)) ++open;
        if (work_within(step, std::min(open + window_, steps_.size()), worker)) {
            idle_looks = 0;
        } else if (++idle_looks < patience) {
            cpu_relax();
        } else {
            std::this_thread::yield();  // whoever has the tasks we wait for may need this CPU
        }
    }
    // Who comes late need not look at each step.
    all_taken_.store(true, std::memory_order_relaxed);
}

bool Walk::taken(std::size_t step) const noexcept {
    return progress_[step].taken.load(std::memory_order_relaxed) == first_bits(steps_[step].ranges);
}

bool Walk::done(std::size_t step) const noexcept {
    return progress_[step].done.load(std::memory_order_acquire) == steps_[step].ranges;
}

bool Walk::ready(std::size_t step) const noexcept {
    return std::ranges::all_of(steps_[step].waits,
                               [&](std::uint32_t other) { return done(other); });
}

bool Walk::work_within(std::size_t from, std::size_t end, int worker) noexcept {
    for (std::size_t step = from; step < end; ++step) {
        if (!taken(step) && ready(step) && work_on(step, worker)) return true;
    }
    return false;
}

std::uint64_t Walk::share_of(const ReadyStep& step, int worker) const noexcept {
    const auto begin = [&](int of) { return std::min(of, workers_) * step.ranges / workers_; };
    return first_bits(begin(worker + 1)) & ~first_bits(begin(worker));
}

bool Walk::work_on(std::size_t number, int worker) noexcept {
    const ReadyStep& step = steps_[number];
    StepProgress& progress = progress_[number];
    const std::uint64_t all = first_bits(step.ranges), own = share_of(step, worker);
    bool worked = false;
    while (!stopped(worker)) {
        const std::uint64_t left = all & ~progress.taken.load(std::memory_order_relaxed);
        if (left == 0) return worked;
        const int range = next_range(left, own);
        const std::uint64_t bit = std::uint64_t{1} << range;
        if ((progress.taken.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) continue;
        if (!run(step, step.begin_of(range), step.begin_of(range + 1), worker)) return worked;
        progress.done.fetch_add(1, std::memory_order_release);
        worked = true;
    }
    return worked;
}

}  // namespace anyshape
