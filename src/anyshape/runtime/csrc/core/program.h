// Level 1 as the runtime sees it: one compiled graph for all shapes.
//
// A program is data. Its numbers come from two generated functions, `bind` and `shape`; its work is
// done by generated kernels. docs/design/0003 explains each part.
//
//   words    what `shape` computes: sizes, strides, byte counts, task counts, variants, costs
//   buffer   memory with a number: a store, which says whose memory it is, and a size
//   store    an input, an output, a constant, a part of the arena, or an alias, which is a part of
//            another buffer
//   block    the 64-bit words that one kernel call is given; a source says what one of them is
//   step     a kernel, its block, how many tasks it has and which earlier steps it waits for
//
// The types are those of anyshape/program, field by field; bind/read_description.h reads them.
//
// Ownership: a Program owns its tables. Kernels and constants are addresses that whoever makes
// the Program keeps alive.
// Thread-safety: immutable once made; use it from any thread.
// Failure: the constructor throws MalformedProgram, so that everything after it can index without
// looking. What only numbers can tell (a variant out of range) is checked by specialize().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/memory_plan.h"

namespace anyshape {

using BindFunction = std::int64_t (*)(const std::int64_t* dims, std::int64_t* symbols);
using ShapeFunction = std::int64_t (*)(const std::int64_t* symbols, std::int64_t* words);
using Kernel = void (*)(const std::int64_t* block, std::int64_t first, std::int64_t last,
                        std::int64_t worker);

// What bind and shape answer if every check holds.
inline constexpr std::int64_t all_checks_hold = -1;

// An element type in DLPack's terms.
struct DataType {
    std::uint8_t code = 0;
    std::uint8_t bits = 0;

    std::int64_t bytes() const noexcept { return (bits + 7) / 8; }
    bool operator==(const DataType&) const = default;
};

// Axis i of the program is axis order[i] of the caller's array. Empty: they are the same.
using Order = std::vector<std::uint32_t>;

// Sizes or strides of a caller's array, in the order of the program.
std::vector<std::int64_t> in_order(std::span<const std::int64_t> values, const Order& order);

struct Input {
    std::string name;
    DataType type;
    std::uint32_t rank = 0;
    Order order;
};

struct Output {
    DataType type;
    std::vector<std::uint32_t> dims;  // words
    std::uint32_t buffer = 0;         // whose store is this output
    Order order;
    // The input that its memory begins with, when kernels start: they write behind it, or over it.
    // The input is read there, too.
    std::optional<std::uint32_t> start;
};

// ---- buffers -----------------------------------------------------------------------------------

// The memory of an input, of an output, of a constant: by number.
struct InputStore {
    std::uint32_t index = 0;
};

struct OutputStore {
    std::uint32_t index = 0;
};

struct ConstantStore {
    std::uint32_t index = 0;
};

// Memory in the arena. Buffers whose lifetimes have a step in common share none, and no more do
// `conflicts` with this one. Naming one side is enough.
struct ArenaStore {
    Lifetime lifetime;
    std::vector<std::uint32_t> conflicts;
    bool per_worker = false;  // one slice for each worker; kernels add worker * bytes themselves
};

// A part of an earlier buffer.
struct AliasStore {
    std::uint32_t of = 0;
    std::optional<std::uint32_t> offset;  // word; bytes from its start
    bool in_place = false;  // a result that is written over an operand: for the report
};

using Store = std::variant<InputStore, OutputStore, ConstantStore, ArenaStore, AliasStore>;

struct Buffer {
    Store store;
    std::uint32_t bytes = 0;  // word
};

// ---- steps -------------------------------------------------------------------------------------

struct Word {
    std::uint32_t index = 0;
};

struct Immediate {
    std::int64_t value = 0;
};

// Where a buffer begins.
struct Address {
    std::uint32_t buffer = 0;
};

// Where the code of a kernel begins: for a kernel that calls others.
struct KernelAddress {
    std::uint32_t kernel = 0;
};

// Where one word of a block comes from.
using Source = std::variant<Word, Immediate, Address, KernelAddress>;

// One way to do a step: a kernel by number, and where its words begin in the block of the step.
struct Variant {
    std::uint32_t kernel = 0;
    std::uint32_t start = 0;
};

struct Step {
    std::string name;
    std::vector<Variant> variants;
    std::optional<std::uint32_t> variant;  // word; the first variant if there is none
    std::uint32_t tasks = 0;               // word
    std::optional<std::uint32_t> cost;     // word; picoseconds on one thread
    std::vector<Source> block;
    std::vector<std::uint32_t> waits;  // earlier steps
    bool carries_chain = false;        // its variants do the same work in another order

    // The words of one variant: up to where those of the next one begin.
    std::span<const Source> words_of(std::size_t variant) const noexcept;
};

// An axis along which a call may be run in parts: what is at one index of it depends on nothing
// that is at another. It is the first in memory of the inputs and outputs that have it.
struct Split {
    std::uint32_t symbol = 0;
    std::int64_t least = 1;        // size of a part,
    std::int64_t multiple_of = 1;  // which is a multiple of this
    std::vector<std::uint32_t> inputs;
    std::vector<std::uint32_t> outputs;
    // Steps that see the whole axis: run after all parts. No other step reads what they write.
    std::vector<std::uint32_t> once;
};

// ---- programs ----------------------------------------------------------------------------------

struct ProgramDescription {
    BindFunction bind = nullptr;
    ShapeFunction shape = nullptr;
    std::uint32_t symbols = 0;
    std::uint32_t words = 0;
    // No step starts before all steps that are so many or more before it are done: lifetimes may
    // rely on that without a wait.
    std::uint32_t window = 8;
    std::vector<Kernel> kernels;
    std::vector<std::uintptr_t> constants;  // addresses
    std::vector<Input> inputs;
    std::vector<Output> outputs;
    std::vector<Buffer> buffers;
    std::vector<Step> steps;
    std::vector<Split> splits;
};

// A buffer in the arena, as level 2 goes through them.
struct ArenaBuffer {
    std::uint32_t buffer;
    bool per_worker;
};

class Program {
   public:
    explicit Program(ProgramDescription description);

    const ProgramDescription& description() const noexcept { return description_; }
    const std::vector<Step>& steps() const noexcept { return description_.steps; }
    const std::vector<Buffer>& buffers() const noexcept { return description_.buffers; }
    const std::vector<Input>& inputs() const noexcept { return description_.inputs; }
    const std::vector<Output>& outputs() const noexcept { return description_.outputs; }

    // The sizes of all inputs together: the length of what `bind` reads, and where those of one
    // input begin.
    std::size_t dim_count() const noexcept { return dim_begins_.back(); }
    std::size_t dim_begin(std::size_t input) const noexcept { return dim_begins_[input]; }

    // Where the sizes of one output begin among those of all.
    std::size_t output_dim_begin(std::size_t output) const noexcept {
        return output_dim_begins_[output];
    }

    // Whether an output begins with this input.
    bool is_start(std::size_t input) const noexcept { return is_start_[input]; }

    // The most words that the blocks of all steps have, each of one variant.
    std::size_t most_block_words() const noexcept { return most_block_words_; }

    // How many addresses in blocks are known with an arena, and with the memory of a call.
    std::size_t arena_addresses() const noexcept { return arena_addresses_; }
    std::size_t call_addresses() const noexcept { return call_addresses_; }

    // Buffers in the arena have numbers of their own, in which conflicts are told.
    const std::vector<ArenaBuffer>& arena_buffers() const noexcept { return arena_buffers_; }
    const Conflicts& conflicts() const noexcept { return conflicts_; }

   private:
    void number_arena_buffers();
    void count_block_words();
    void count_addresses();

    ProgramDescription description_;
    std::vector<std::size_t> dim_begins_;
    std::vector<std::size_t> output_dim_begins_;
    std::vector<bool> is_start_;
    std::size_t most_block_words_ = 0;
    std::size_t arena_addresses_ = 0;
    std::size_t call_addresses_ = 0;
    std::vector<ArenaBuffer> arena_buffers_;
    Conflicts conflicts_;
};

}  // namespace anyshape
