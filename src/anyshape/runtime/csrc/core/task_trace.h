// When each range of tasks began and ended, and on which thread, of the runs that one thread starts.
//
// A trace is turned on for a thread, not for a program: whatever runs that thread starts while a
// Scope lives are recorded, those of courses among them. A run looks for a trace once, and a walk
// without one pays a test of a pointer for each range.
//
// Ownership: a trace keeps the programs whose runs it has recorded.
// Thread-safety: begin() is for the thread of the Scope, add() for the members of a team at the same
// time, each with its own number; records() is for when no run is going on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/program.h"
#include "core/specialization.h"

namespace anyshape {

struct TaskRecord {
    std::uint32_t run = 0;
    std::uint32_t step = 0;
    std::int64_t first = 0;  // tasks
    std::int64_t last = 0;
    std::int64_t begin = 0;  // nanoseconds of the monotonic clock
    std::int64_t end = 0;
};

class TaskTrace {
   public:
    // Makes `trace` that of the calling thread.
    class Scope {
       public:
        explicit Scope(TaskTrace& trace) noexcept : before_(current_) { current_ = &trace; }
        ~Scope() { current_ = before_; }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

       private:
        TaskTrace* before_;
    };

    // Null almost always.
    static TaskTrace* of_this_thread() noexcept { return current_; }

    // Makes room for all records of one run, so that add() takes no memory.
    void begin(std::shared_ptr<const Program> program, std::span<const ReadyStep> steps,
               int workers);

    void add(std::size_t step, std::int64_t first, std::int64_t last, int worker,
             std::int64_t begin, std::int64_t end) noexcept;

    static std::int64_t now() noexcept;

    std::span<const std::vector<TaskRecord>> records() const noexcept { return by_worker_; }
    const Program& program(std::uint32_t run) const noexcept { return *programs_[run]; }

   private:
    static thread_local TaskTrace* current_;

    std::vector<std::shared_ptr<const Program>> programs_;  // by run
    std::vector<std::vector<TaskRecord>> by_worker_;
};

}  // namespace anyshape
