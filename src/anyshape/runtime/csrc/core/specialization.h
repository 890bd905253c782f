// Level 2: everything about a program that depends on the sizes of one binding.
//
// specialize() is arithmetic: it runs the compiled shape program, chooses kernels, places buffers
// and fills in all words of all blocks but the addresses. Those differ between runs that go on at
// the same time, so they are kept as patches: base + offset, where a base is the arena, an input
// or an output.
//
// Ownership: a Specialization owns its tables and shares its Program.
// Thread-safety: immutable once made; many runs use one at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/program.h"
#include "core/run_options.h"
#include "core/static_memory.h"

namespace anyshape {

// A word of a block that a run fills in: blocks[position] = bases[base] + offset.
struct Patch {
    std::uint32_t position;
    std::uint32_t base;
    std::int64_t offset;
};

// Bases in order: nothing (offsets are addresses, as those of constants), the arena, the inputs,
// the outputs.
inline constexpr std::uint32_t absolute_base = 0;
inline constexpr std::uint32_t arena_base = 1;
inline constexpr std::uint32_t first_input_base = 2;

inline std::uint32_t first_output_base(const Program& program) noexcept {
    return first_input_base + static_cast<std::uint32_t>(program.inputs().size());
}

// Where a buffer lies, aliases resolved.
struct Placement {
    std::uint32_t base = absolute_base;
    std::int64_t offset = 0;
};

inline constexpr std::int64_t unknown_cost = -1;

// A step with its numbers. A step without work has no kernel and one task, so that whoever waits
// for it also waits for what it waits for.
struct ReadyStep {
    Kernel kernel = nullptr;
    std::int64_t tasks = 1;
    int ranges = 1;         // of tasks, which threads take one at a time; 1: it is not split
    std::size_t block = 0;  // begin of its words
    std::span<const std::uint32_t> waits;
    std::int64_t cost = unknown_cost;  // picoseconds on one thread
    std::uint32_t variant = 0;
    std::uint32_t number = 0;  // among the steps of its program

    // The first task of a range; its length and that of any other differ by one at most.
    std::int64_t begin_of(int range) const noexcept {
        return tasks / ranges * range + tasks % ranges * range / ranges;
    }
};

inline constexpr int max_ranges = 64;  // one bit each, see walk.h

struct MemoryReport {
    std::int64_t arena_bytes = 0;
    std::int64_t lower_bound_bytes = 0;  // the most that lives at one step
    std::int64_t aliased_bytes = 0;      // saved by results that are names of other buffers
    std::int64_t in_place_bytes = 0;     // saved by results that are written over operands
    std::int64_t output_bytes = 0;
};

struct Specialization;

// What a specialization does to need less memory than the usual one; see economy.h.
struct Economy {
    std::shared_ptr<const Specialization> usual;
    std::vector<std::int64_t> part_words;  // of the size of the first part
    std::vector<std::int64_t> part_bytes;  // by buffer
    std::vector<std::int64_t> key;  // symbols, and the bytes that the arena may have
    std::int64_t parts = 1;         // of the call, one after the other
    std::uint32_t symbol = 0;       // the axis of the parts, if they are several,
    std::int64_t size = 0;          // and the size of the first
    std::vector<std::uint32_t> begins;  // which run of a step each part begins with, and the end
    std::vector<std::uint32_t> again;  // steps that run a second time there
    std::int64_t again_cost = 0;       // picoseconds on one thread
};

struct Specialization {
    std::shared_ptr<const Program> program;
    std::vector<std::int64_t> symbols;
    std::vector<std::int64_t> words;
    std::vector<ReadyStep> steps;
    std::vector<std::int64_t> block_image;  // blocks of all steps, complete but for the patches
    std::vector<Patch> arena_patches;
    std::vector<Patch> call_patches;         // inputs and outputs
    std::vector<std::int64_t> output_dims;   // of all outputs, one after the other
    std::vector<std::int64_t> buffer_bytes;  // by buffer
    std::vector<Placement> placements;       // by buffer
    MemoryReport memory;
    std::int64_t cost = unknown_cost;  // of all steps; unknown if that of any step is
    std::int64_t shared_cost = 0;      // of steps that are split; the most there is if unknown
    bool worth_a_team = false;         // of a run that nothing precedes, see Run::execute()
    bool brief = false;                // known to take a few microseconds
    // No step starts before all steps that are so many or more before it are done.
    std::uint32_t window = 1;
    std::shared_ptr<const Economy> economy;  // null in the usual one

    // What it is found by in a cache.
    std::span<const std::int64_t> key() const noexcept {
        return economy ? economy->key : symbols;
    }

    // Picoseconds that so many threads take: steps one after the other, those that are split shared
    // by as many as there are ranges for. Unknown if the cost is.
    std::int64_t elapsed(int threads) const noexcept;

    // What this object occupies, for the cache that holds it.
    std::size_t held_bytes() const noexcept;
};

// For runs with as many threads as `options` says: per-worker buffers have a slice for each. Buffers
// lie where a StaticMemory has places for them, if there is one and they fit.
// Throws CheckFailed or ImpossibleSize.
Specialization specialize(std::shared_ptr<const Program> program,
                          std::span<const std::int64_t> symbols, const RunOptions& options,
                          const StaticMemory* places = nullptr);

// The same into an object that was one of this program before, or is empty. Tables are as long for
// each binding, so that the former asks for no memory, given `places`. If it throws, `into` may only
// be used for this again. Buffers as large as those of `latest`, another one with the same options,
// lie where those do: a size that grows from call to call mostly leaves the arena as it is.
void specialize_into(Specialization& into, std::shared_ptr<const Program> program,
                     std::span<const std::int64_t> symbols, const RunOptions& options,
                     const StaticMemory* places, const Specialization* latest = nullptr);

// Words, sizes, variants and costs alone: without an arena and without blocks.
Specialization specialize_numbers(std::shared_ptr<const Program> program,
                                  std::span<const std::int64_t> symbols,
                                  const RunOptions& options);

}  // namespace anyshape
