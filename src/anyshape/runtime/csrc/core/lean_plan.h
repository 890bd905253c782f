// Plans for runs in less memory: the steps of a specialization one after the other, some of them
// twice.
//
// Steps that overlap keep more memory alive than steps in a row, and a value that is large and read
// again much later keeps it for all that lies between. So a lean plan lets each step be over before
// the next one starts, and, while that is not enough, drops a value where the most is alive, and
// computes it again before it is read next: with the steps that its operands need, where those are
// gone, too. What is cheap for the bytes that it saves goes first.
//
//   value     what one step writes into the arena: by the number of its buffer. A name for a value,
//             or for a part of it, is that value; what is written in place is one of its own
//   run       of a step: its number in a list of runs
//   instance  a value from one run of its step to the last that reads it. All have the same content
//   unit      memory: of instances that are written over each other, one
//
// Ownership: a planner refers to a table. Thread-safety: plain values; one thread for each planner.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/memory_plan.h"
#include "core/specialization.h"

namespace anyshape {

inline constexpr std::uint32_t no_value = ~std::uint32_t{0};

// Which steps write which values, for all sizes.
class ValueTable {
   public:
    explicit ValueTable(const Program& program);

    // The values in the addresses of a step that runs, one by one.
    std::span<const std::uint32_t> accesses(const ReadyStep& step) const {
        const std::size_t variant = variant_begins_[step.number] + step.variant;
        const std::size_t begin = access_begins_[variant];
        return std::span(accesses_).subspan(begin, access_begins_[variant + 1] - begin);
    }

    std::vector<std::uint32_t> value_of;  // by buffer; no_value outside of the arena
    std::vector<std::uint32_t> writer;    // by value: a step
    std::vector<std::uint32_t> over;      // by value: that which it is written over, or no_value
    // By step: whether it may run again. It then writes values alone, which are the same each time:
    // no input that it reads is written by another step.
    std::vector<bool> again;

   private:
    void note_writers(const Program& program);
    void note_accesses(const Program& program);

    std::vector<std::uint32_t> accesses_;
    std::vector<std::size_t> access_begins_;   // by variant, of all steps
    std::vector<std::size_t> variant_begins_;  // by step
};

struct LeanPlan {
    std::vector<std::uint32_t> runs;    // steps, in the order in which they run
    std::vector<std::uint32_t> again;   // those of them that run a second time
    std::vector<std::int64_t> offsets;  // of the values in the addresses of each run, one by one
    std::int64_t arena_bytes = 0;
    std::int64_t lower_bound_bytes = 0;  // the most that lives at one step
    std::int64_t again_cost = 0;         // picoseconds on one thread
};

// Where the words of the block come from that a step is called with.
std::span<const Source> sources_of(const Program& program, const ReadyStep& step);

// Plans for specializations of one program, one after the other.
class LeanPlanner {
   public:
    explicit LeanPlanner(const ValueTable& table);

    // Begins anew with a specialization, which must outlive its use here: with some of the steps
    // alone, or with all others. No other ones read what those write.
    enum class Which : std::uint8_t { these, others };
    void measure(const Specialization& sized, std::span<const std::uint32_t> steps, Which which);

    // The most that is alive at one run: no plan for these runs is smaller.
    std::int64_t most_alive() const noexcept { return fullness_.bytes; }

    // Computes values again until no more than `room` is alive, or none is left that would help.
    void shrink_to(std::int64_t room);

    // Within `room`, if that is found.
    LeanPlan place(std::int64_t room) const;

   private:
    struct Instance {
        std::uint32_t value;
        std::uint32_t first;   // run
        std::uint32_t last;    // run
        std::uint32_t before;  // the instance of the same value before this one
        std::uint32_t over;    // the instance that its step reads and may write over
        std::uint32_t unit;
    };

    struct Unit {
        Lifetime lifetime;
        std::int64_t bytes;
    };

    // A value that is computed again before run `before`.
    struct Candidate {
        std::uint32_t before = 0;
        std::vector<std::uint32_t> steps;
        std::int64_t saved = 0;  // bytes, at the fullest run
        std::int64_t cost = 0;

        bool is_better_than(const Candidate& other) const;
    };

    struct Fullness {
        std::int64_t bytes = 0;
        std::uint32_t runs = 0;  // at which so much is alive

        auto operator<=>(const Fullness&) const = default;
    };

    std::span<const std::uint32_t> accesses(std::uint32_t step) const {
        return table_->accesses(sized_->steps[step]);
    }
    std::int64_t bytes(std::uint32_t value) const;
    void follow(std::span<const std::uint32_t> runs);
    void note_run(std::uint32_t run, std::uint32_t step);
    void share_memory();
    void find_fullest(std::size_t runs);
    bool shrink();
    std::vector<Candidate> find_candidates();
    std::uint32_t instance_at(std::uint32_t value, std::uint32_t run) const;
    std::optional<Candidate> candidate(std::uint32_t value, std::uint32_t before) const;
    void keep(std::uint32_t operand, Candidate& made, std::vector<std::uint32_t>& needed) const;
    MemoryPlan placed(std::int64_t room) const;

    const ValueTable* table_;
    const Specialization* sized_ = nullptr;

    std::vector<std::uint32_t> runs_;
    std::vector<std::uint32_t> again_;
    std::int64_t again_cost_ = 0;
    int rounds_ = 0;

    // Of the runs that were followed last.
    std::vector<Instance> instances_;
    std::vector<Unit> units_;
    std::vector<__int128> change_;  // how much more is alive than one run before
    Fullness fullness_;
    std::uint32_t fullest_ = 0;           // run
    std::vector<std::uint32_t> current_;  // by value: its last instance
    std::vector<std::uint8_t> seen_;      // by value
};

}  // namespace anyshape
