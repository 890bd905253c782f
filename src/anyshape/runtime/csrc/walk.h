// Walks the schedule of one run: the threads of a team together, or one thread alone.
//
// Each step has a counter of tasks taken and one of tasks done. A thread takes a range of tasks of
// the first step that is ready and has some left; a step is ready when all steps it waits for are
// done. Nobody stops while there is something to do within the window, so independent steps
// overlap. The window begins at the first step that is not done, as far as a thread knows: no step
// starts before those that lie a window before it are done.
//
// A walk may be given a Stop. It is then asked before each range, and ranges are no longer than about
// a millisecond; without one, nothing is asked.
//
// Ownership: a Walk refers to a specialization's steps, a run's blocks, its counters and its Stop.
// Thread-safety: the members of a team call together() at the same time, alone() is for one thread.
// Kernels do not throw, and neither does anything here.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "specialization.h"
#include "stop.h"

namespace anyshape {

// On lines of their own: threads that poll `done` do not slow down those that take tasks.
struct StepProgress {
    alignas(64) std::atomic<std::int64_t> taken = 0;
    alignas(64) std::atomic<std::int64_t> done = 0;
};

class Walk {
   public:
    // `progress` has an element for each step.
    Walk(std::span<const ReadyStep> steps, const std::int64_t* blocks,
         std::span<StepProgress> progress, std::size_t window, Stop* stop = nullptr) noexcept
        : steps_(steps), blocks_(blocks), progress_(progress), window_(window), stop_(stop) {}

    void alone() const noexcept;

    // Once, before the first thread calls together().
    void reset() noexcept;

    // Returns when no tasks are left to take, or when it is to stop; others may still be working
    // on theirs.
    void together(int worker) noexcept;

   private:
    void alone_until_stopped() const noexcept;
    bool stopped(int worker) const noexcept {
        return stop_ != nullptr && stop_->requested(worker);
    }
    std::int64_t range_of(const ReadyStep& step) const noexcept;
    bool taken(std::size_t step) const noexcept;
    bool done(std::size_t step) const noexcept;
    bool ready(std::size_t step) const noexcept;
    bool work_on(std::size_t step, int worker) noexcept;
    bool work_within(std::size_t from, std::size_t end, int worker) noexcept;

    std::span<const ReadyStep> steps_;
    const std::int64_t* blocks_;
    std::span<StepProgress> progress_;
    std::size_t window_;
    Stop* stop_;
    std::atomic<bool> all_taken_ = false;
};

}  // namespace anyshape
