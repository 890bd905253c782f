// Runs one program: looks up or makes the specialization, lends memory, calls the team.
//
//   Runner   one per program: the cache of specializations and the contexts that are not in use
//   Context  what one run needs for itself: an arena, blocks, counters. It remembers what it ran
//            last, so that a call with the same sizes only fills in the addresses that changed
//   Run      one call, in three parts, because a caller has things to do in between:
//              dims() filled in → prepare() → execute()
//
// Ownership: a Runner shares its Program and owns cache and contexts. A Run borrows a context and
// must not outlive the Runner.
// Thread-safety: a Runner may be used from any thread, and many Runs at the same time; a Run from
// one thread at a time.
// Failure: CheckFailed, ImpossibleSize, MemoryLimitExceeded, MemoryUnavailable, Stopped,
// std::bad_alloc; the Runner stays usable.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/arena.h"
#include "core/economy.h"
#include "core/fork_safe.h"
#include "core/pool.h"
#include "core/program.h"
#include "core/run_options.h"
#include "core/specialization.h"
#include "core/specialization_cache.h"
#include "core/static_memory.h"
#include "core/stop.h"
#include "core/task_trace.h"
#include "core/walk.h"

namespace anyshape {

struct RunMetrics {
    std::uint64_t runs = 0;
    std::uint64_t team_runs = 0;  // with the team; the others were short, or the team was busy
    std::size_t idle_contexts = 0;
    std::size_t idle_arena_bytes = 0;
};

struct Context {
    explicit Context(const Program& program);

    Arena arena;
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> symbols;
    std::vector<std::int64_t> bases;  // addresses, see specialization.h
    std::vector<std::int64_t> blocks;
    std::vector<StepProgress> progress;
    std::shared_ptr<const Specialization> last;  // `blocks` are filled in for it,
    const std::byte* last_arena = nullptr;       // with the arena at this address
};

class Runner {
   public:
    Runner(std::shared_ptr<const Program> program, const RunOptions& options);

    const Program& program() const noexcept { return *program_; }
    int threads() const noexcept { return options_.threads; }

    // Null if there is none yet.
    std::shared_ptr<const Specialization> find(std::span<const std::int64_t> symbols) {
        return cache_.find(symbols);
    }
    std::shared_ptr<const Specialization> specialize(std::span<const std::int64_t> symbols);

    // One for the same binding whose arena takes at most so many bytes, or as few as can be, from
    // a cache of its own.
    std::shared_ptr<const Specialization> economical(
        const std::shared_ptr<const Specialization>& usual, std::int64_t room);

    // The usual one if arena and outputs are within the limit, else an economical one that is; the
    // usual one if there is none.
    std::shared_ptr<const Specialization> specialize_within(std::span<const std::int64_t> symbols,
                                                            std::int64_t limit);

    CacheMetrics cache_metrics() const;
    std::vector<std::vector<std::int64_t>> bindings() const { return cache_.bindings(); }
    RunMetrics run_metrics() const;

    // What a run of this binding needs, with memory behind it: the arena of one context, and blocks
    // for the outputs of one call. Of a program of a course, blocks alone: the arena is the course's.
    enum class Reserve : std::uint8_t { all, outputs };
    void reserve(std::span<const std::int64_t> symbols, Reserve what = Reserve::all);

    // All memory that one call at a time needs, for each binding of these ranges (0064): the arena,
    // outputs of this call and of the one before, level 2 for as many bindings as the cache holds;
    // constants and the team are brought in, too. It is kept until the Runner is gone. Before the
    // first run. Throws MemoryLimitExceeded, MemoryUnavailable, ImpossibleSize.
    void take_static_memory(std::span<const SymbolRange> ranges);

    // Level 2 without the cache, to ask what a binding would need: within the limit, if that can
    // be.
    MemoryReport plan(std::span<const std::int64_t> symbols, std::int64_t limit);
    Specialization unkept(std::span<const std::int64_t> symbols) const { return make(symbols); }

    // Gives back the memory of idle contexts and forgets all specializations not in use, but for
    // what take_static_memory() took.
    void trim();

    std::int64_t memory_limit() const noexcept { return options_.memory_limit; }

   private:
    friend class Run;
    Specialization make(std::span<const std::int64_t> symbols) const;
    void hold_static_memory(std::shared_ptr<const Specialization> any);
    std::shared_ptr<const Specialization> fill_cache(std::span<const SymbolRange> ranges);
    void read_constants(std::span<const std::int64_t> buffer_bytes) const;
    std::unique_ptr<Context> borrow();
    void give_back(std::unique_ptr<Context> context) noexcept;
    void drop_unused_contexts() noexcept;
    const Economist& economist();

    const std::shared_ptr<const Program> program_;
    const RunOptions options_;  // with as many threads as there are
    SpecializationCache cache_;
    std::unique_ptr<const StaticMemory> static_;  // if there is any
    std::unique_ptr<const Pool::Hold> outputs_held_;
    SpecializationCache economical_;
    std::unique_ptr<const Economist> economist_;  // made when a limit first asks for it
    mutable ForkSafeMutex mutex_;
    std::vector<std::unique_ptr<Context>> idle_;  // the last one given back is the next one lent
    std::size_t least_idle_ = 0;    // of this window: so many at the front were never needed
    std::uint32_t given_back_ = 0;  // in this window
    std::atomic<std::uint64_t> runs_ = 0;
    std::atomic<std::uint64_t> team_runs_ = 0;
};

class Run {
   public:
    // With an `arena` that runs of several programs take turns in; else with its context's own.
    explicit Run(Runner& runner, Arena* arena = nullptr)
        : runner_(runner), context_(runner.borrow()), arena_(arena ? arena : &context_->arena) {}
    ~Run() { runner_.give_back(std::move(context_)); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // The sizes of all inputs, one after the other: for the caller to fill in.
    std::span<std::int64_t> dims() noexcept { return context_->dims; }

    // Solves the symbols. True if their specialization was there; otherwise prepare() makes it.
    bool find();
    void prepare();

    // Both, quickly if the sizes are those of the last run in this context.
    void find_again();

    const Program& program() const noexcept { return runner_.program(); }

    const std::shared_ptr<const Specialization>& specialization() const noexcept {
        return specialization_;
    }

    // Throws MemoryLimitExceeded if the run, with so many bytes for copies of inputs, needs more.
    // Outputs that are written into memory of the caller do not count: `given` are their bytes.
    void require_memory_within(std::int64_t limit, std::int64_t copies,
                               std::int64_t given = 0) const;

    // The same, but first takes an economical specialization, if the usual one needs too much.
    void fit_memory_within(std::int64_t limit, std::int64_t copies, std::int64_t given = 0);

    // For a handler of std::bad_alloc: throws MemoryUnavailable in its place, with the same bytes,
    // if the run needs so much that its size is the cause; else the same again.
    [[noreturn]] void throw_lack_of_memory(std::int64_t copies, std::int64_t given = 0) const;

    // For the caller to fill in before execute(). Inputs are contiguous and aligned to an element.
    void set_input(std::size_t input, const void* data) noexcept;
    void set_output(std::size_t output, void* data) noexcept;
    const std::byte* input(std::size_t input) const noexcept;

    // Throws Stopped if `stop` asked for it, at the latest when all is done. Nobody may then use
    // the outputs. `shared_before` is what runs right before this one, of one course, had to share,
    // in picoseconds: together they may be worth a team that none of them is worth alone.
    void execute(Stop* stop = nullptr, std::int64_t shared_before = 0);

    // The same, one step at a time: begin() once, then each step in order.
    void begin();
    void execute_step(std::size_t step, Stop* stop = nullptr);
    std::byte* address(std::size_t buffer) const noexcept;  // after begin()

   private:
    friend class Runner;
    enum class IfBusy : std::uint8_t { go_alone, wait };
    void solve();
    bool is_worth_a_team(std::int64_t shared_before) const noexcept;
    void use_team_or_go_alone(std::span<const ReadyStep> steps, bool worth_a_team, IfBusy if_busy,
                              Stop* stop, TaskTrace* trace = nullptr);

    Runner& runner_;
    std::unique_ptr<Context> context_;
    Arena* arena_;
    std::shared_ptr<const Specialization> specialization_;
};

}  // namespace anyshape
