// Runs a course: programs one after the other, with branches, loops and sizes that data decide
// between them, in one call.
//
//   Course     one per divided graph: its programs, and the contexts that are not in use
//   CourseRun  one call: the entry's inputs are filled in, then execute(), then results
//
// All programs of a run take turns in one arena: nothing of a program outlives it but its outputs,
// which lie in blocks of their own (course_memory.h).
//
// Ownership: a Course refers to Runners that its maker keeps alive. A CourseRun must not outlive
// its Course.
// Thread-safety: as runner.h: many runs at the same time, each on one thread.
// Failure: what runs of programs throw, as InProgram where it is not the entry's; UnfitSize;
// what the host throws. The Course stays usable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/arena.h"
#include "core/course_description.h"
#include "core/course_memory.h"
#include "core/fork_safe.h"
#include "core/runner.h"
#include "core/stop.h"

namespace anyshape {

// A program other than the entry failed.
class InProgram : public std::exception {
   public:
    InProgram(std::uint32_t program, std::vector<std::int64_t> dims, std::exception_ptr cause)
        : program(program), dims(std::move(dims)), cause(std::move(cause)) {}
    const char* what() const noexcept override { return "a program of a course failed"; }

    std::uint32_t program;
    std::vector<std::int64_t> dims;  // of all its inputs
    std::exception_ptr cause;
};

// A number that was to become a size is below 0, or more than the rows that there are.
class UnfitSize : public std::exception {
   public:
    UnfitSize(std::uint32_t number, std::int64_t size, std::optional<std::int64_t> rows)
        : number(number), size(size), rows(rows) {}
    const char* what() const noexcept override { return "a number that cannot be a size"; }

    std::uint32_t number;  // of the step that says so
    std::int64_t size;
    std::optional<std::int64_t> rows;
};

// What the host computes. Operands are whole values; results are filled in.
struct HostCall {
    const CallHost& step;
    std::span<const Value* const> operands;
    std::span<const std::int64_t> sizes;
    std::span<Value> results;
};

// What a run may do, and whom it asks.
struct CourseLimits {
    std::int64_t memory_limit = max_bytes;
    std::int64_t held = 0;  // of it, by what the caller has copied
    Stop* stop = nullptr;   // may be null
    bool punctual = false;  // whether every step looks at `stop`: else loops do, and long programs
    void (*host)(void* what, HostCall& call) = nullptr;
    void* what = nullptr;
};

// What one run needs for itself.
struct CourseContext {
    struct Frame {
        std::vector<Value> slots;
        std::vector<Value> next;  // values on their way from one iteration to the next
    };

    CourseContext(const CourseDescription& course, std::span<Runner* const> runners);
    Run& run_of(std::uint32_t program);

    Arena arena;
    std::vector<Frame> frames;  // by region: none is entered twice at a time
    std::vector<std::optional<Run>> runs;
    CourseMemory memory;

   private:
    std::span<Runner* const> runners_;
};

class Course {
   public:
    // Throws MalformedProgram.
    Course(CourseDescription description, std::vector<Runner*> runners);

    const CourseDescription& description() const noexcept { return description_; }
    Runner& entry() const noexcept { return *runners_[0]; }
    std::size_t idle_arena_bytes() const;

    // An arena of so many bytes for one run at a time, with memory behind it. Throws
    // std::bad_alloc.
    void reserve(std::size_t bytes);
    void trim();

   private:
    friend class CourseRun;
    std::unique_ptr<CourseContext> borrow();
    void give_back(std::unique_ptr<CourseContext> context) noexcept;

    const CourseDescription description_;
    const std::vector<Runner*> runners_;
    mutable ForkSafeMutex mutex_;
    std::vector<std::unique_ptr<CourseContext>> idle_;
};

class CourseRun {
   public:
    explicit CourseRun(Course& course) : course_(course), context_(course.borrow()) {}
    ~CourseRun();
    CourseRun(const CourseRun&) = delete;
    CourseRun& operator=(const CourseRun&) = delete;

    // Prepared, and with its inputs set, before execute().
    Run& entry() { return context_->run_of(0); }

    void execute(const CourseLimits& limits);

    // A result that callers see, after execute(); whoever moves its block away owns it.
    Value& result(std::size_t number);

   private:
    Course& course_;
    std::unique_ptr<CourseContext> context_;
};

}  // namespace anyshape
