#include "core/task_trace.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace anyshape {

thread_local TaskTrace* TaskTrace::current_ = nullptr;

std::int64_t TaskTrace::now() noexcept {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

void TaskTrace::begin(std::shared_ptr<const Program> program, std::span<const ReadyStep> steps,
                      int workers) {
    programs_.push_back(std::move(program));
    by_worker_.resize(std::max(by_worker_.size(), static_cast<std::size_t>(workers)));
    std::size_t ranges = 0;
    for (const ReadyStep& step : steps) ranges += static_cast<std::size_t>(step.ranges);
    for (auto& records : by_worker_) {
        // Twice as much at least: a loop of a course begins many runs.
        const std::size_t needed = records.size() + ranges;
        if (records.capacity() < needed) records.reserve(std::max(needed, 2 * records.size()));
    }
}

void TaskTrace::add(std::size_t step, std::int64_t first, std::int64_t last, int worker,
                    std::int64_t begin, std::int64_t end) noexcept {
    by_worker_[static_cast<std::size_t>(worker)].push_back(
        {.run = static_cast<std::uint32_t>(programs_.size() - 1),
         .step = static_cast<std::uint32_t>(step),
         .first = first,
         .last = last,
         .begin = begin,
         .end = end});
}

}  // namespace anyshape
