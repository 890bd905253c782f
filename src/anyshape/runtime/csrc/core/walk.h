// Walks the schedule of one run: the threads of a team together, or one thread alone.
//
// Each step's tasks are divided into ranges, with a bit for each that is taken and a count of those
// done. A thread takes a range of the first step that is ready and has some left; a step is ready
// when all steps it waits for are done. Nobody stops while there is something to do within the
// window, so independent steps overlap. The window begins at the first step that is not done, as
// far as a thread knows: no step starts before those that lie a window before it are done.
//
// Every thread has a share of each step's ranges, the same part of the whole in all steps and all
// runs, so that it mostly reads what it wrote and weights that it has in its own cache. It takes
// those first; then, from their end, those of the others.
//
// A walk may be given a Stop. It is then asked before each range and about every millisecond within
// one; without one, nothing is asked. It may be given a TaskTrace, which is then told of each range.
//
// Ownership: a Walk refers to a specialization's steps, a run's blocks, its counters, its Stop and
// its trace.
// Thread-safety: the members of a team call together() at the same time, alone() is for one thread.
// Kernels do not throw, and neither does anything here.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "core/specialization.h"
#include "core/stop.h"
#include "core/task_trace.h"

namespace anyshape {

// On lines of their own: threads that poll `done` do not slow down those that take tasks.
struct StepProgress {
    alignas(64) std::atomic<std::uint64_t> taken = 0;  // a bit for each range
    alignas(64) std::atomic<int> done = 0;             // ranges
};

class Walk {
   public:
    // `progress` has an element for each step; `workers` is how many have a share.
    Walk(std::span<const ReadyStep> steps, const std::int64_t* blocks,
         std::span<StepProgress> progress, std::size_t window, int workers, Stop* stop,
         TaskTrace* trace = nullptr) noexcept
        : steps_(steps),
          blocks_(blocks),
          progress_(progress),
          window_(window),
          workers_(workers),
          stop_(stop),
          trace_(trace) {}

    void alone() const noexcept;

    // Once, before the first thread calls together().
    void reset() noexcept;

    // Returns when no tasks are left to take, or when it is to stop; others may still be working
    // on theirs.
    void together(int worker) noexcept;

   private:
    bool stopped(int worker) const noexcept { return stop_ != nullptr && stop_->requested(worker); }
    std::uint64_t share_of(const ReadyStep& step, int worker) const noexcept;
    bool run(const ReadyStep& step, std::int64_t first, std::int64_t last,
             int worker) const noexcept;
    bool run_tasks(const ReadyStep& step, std::int64_t first, std::int64_t last,
                   int worker) const noexcept;
    bool taken(std::size_t step) const noexcept;
    bool done(std::size_t step) const noexcept;
    bool ready(std::size_t step) const noexcept;
    bool work_on(std::size_t step, int worker) noexcept;
    bool work_within(std::size_t from, std::size_t end, int worker) noexcept;

    std::span<const ReadyStep> steps_;
    const std::int64_t* blocks_;
    std::span<StepProgress> progress_;
    std::size_t window_;
    int workers_;
    Stop* stop_;
    TaskTrace* trace_;
    std::atomic<bool> all_taken_ = false;
};

}  // namespace anyshape
