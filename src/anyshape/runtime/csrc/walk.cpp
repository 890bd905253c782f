#include "walk.h"

#include <algorithm>
#include <thread>

#include "team.h"

namespace anyshape {
namespace {

// Of about a millisecond, by the step's own estimate.
std::int64_t tasks_between_looks(const ReadyStep& step) noexcept {
    constexpr double picoseconds = 1e9;
    if (step.cost <= 0) return step.range;
    const double tasks = static_cast<double>(step.tasks) * picoseconds;
    const double share = tasks / static_cast<double>(step.cost);
    if (share >= static_cast<double>(step.tasks)) return step.tasks;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(share));
}

}  // namespace

void Walk::alone() const noexcept {
    if (stop_ != nullptr) return alone_until_stopped();
    for (const ReadyStep& step : steps_) {
        if (step.kernel != nullptr) step.kernel(blocks_ + step.block, 0, step.tasks, 0);
    }
}

void Walk::alone_until_stopped() const noexcept {
    for (const ReadyStep& step : steps_) {
        if (step.kernel == nullptr) continue;
        const std::int64_t range = tasks_between_looks(step);
        for (std::int64_t first = 0; first < step.tasks; first += range) {
            if (stopped(0)) return;
            step.kernel(blocks_ + step.block, first, std::min(first + range, step.tasks), 0);
        }
    }
}

std::int64_t Walk::range_of(const ReadyStep& step) const noexcept {
    return stop_ == nullptr ? step.range : std::min(step.range, tasks_between_looks(step));
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
    return progress_[step].taken.load(std::memory_order_relaxed) >= steps_[step].tasks;
}

bool Walk::done(std::size_t step) const noexcept {
    return progress_[step].done.load(std::memory_order_acquire) == steps_[step].tasks;
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

bool Walk::work_on(std::size_t number, int worker) noexcept {
    const ReadyStep& step = steps_[number];
    StepProgress& progress = progress_[number];
    const std::int64_t range = range_of(step);
    bool worked = false;
    while (!stopped(worker)) {
        const std::int64_t first = progress.taken.fetch_add(range, std::memory_order_relaxed);
        if (first >= step.tasks) return worked;
        const std::int64_t last = std::min(first + range, step.tasks);
        if (step.kernel != nullptr) step.kernel(blocks_ + step.block, first, last, worker);
        progress.done.fetch_add(last - first, std::memory_order_release);
        worked = true;
    }
    return worked;
}

}  // namespace anyshape
