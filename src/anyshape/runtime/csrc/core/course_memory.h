// The values of one run of a course, and the memory they lie in.
//
//   Value         what a slot holds: memory and its sizes
//   CourseMemory  gives blocks to values, takes them back, and counts what is used
//
// Blocks that values let go are kept for those that come, so an iteration of a loop asks nobody for
// memory. What goes on where an input of it ends is written behind that, if nobody else needs the
// input and its block has room.
//
// Ownership: values share blocks; a block without values belongs to the CourseMemory.
// Thread-safety: none; a run is one thread's.
// Failure: what the pool throws; ImpossibleSize if an output ends before what it goes on with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/course_description.h"
#include "core/pool.h"
#include "core/runner.h"

namespace anyshape {

// Memory of a value, and how much of it is used: what a memory limit counts. The block itself is as
// long as the pool's are.
struct ValueBlock : PoolBlock {
    ValueBlock(PoolBlock block, std::int64_t used) : PoolBlock(std::move(block)), used(used) {}
    std::int64_t used;
};

// Dense memory. It is that of `block`, of `owner`, or, where there is neither, of an input or a
// constant, which outlive the run.
struct Value {
    std::byte* data = nullptr;
    std::vector<std::int64_t> dims;
    std::shared_ptr<ValueBlock> block;
    std::shared_ptr<void> owner;
};

// Where values without memory lie.
alignas(64) inline constinit std::array<std::byte, 64> nowhere{};

// Bytes of one row of memory that is there, so that the product fits.
inline std::int64_t row_bytes(const Value& value, std::uint32_t item_bytes) {
    std::int64_t bytes = item_bytes;
    for (std::size_t axis = 1; axis < value.dims.size(); ++axis) bytes *= value.dims[axis];
    return bytes;
}

// Bytes of a shape for which memory is still to be taken: beyond max_bytes, all are alike.
std::int64_t bytes_of_shape(const Value& value, std::uint32_t item_bytes);

// A program whose outputs are to be given memory. `work` is null for the entry, whose inputs are the
// first slots; `over` are the slots that nobody reads behind the step.
struct ProgramStep {
    Run& run;
    const RunProgram* work;
    const Slots& results;
    const Slots& over;
    std::span<Value> slots;

    // Of an input.
    std::uint32_t slot_of(std::uint32_t input) const {
        return work != nullptr ? work->operands[input].slot : input;
    }
};

class CourseMemory {
   public:
    std::int64_t held() const noexcept { return held_; }  // bytes that values use of their blocks

    std::shared_ptr<ValueBlock> take(std::int64_t bytes);

    // Its sizes stay: others may be told them.
    void let_go(Value& value) {
        if (value.block != nullptr) {
            if (value.block.use_count() == 1) keep_free(std::move(value.block));
            value.block.reset();
        }
        value.owner.reset();
    }

    void share(Value& to, const Value& from) {
        let_go(to);
        to.data = from.data;
        to.dims.assign(from.dims.begin(), from.dims.end());
        to.block = from.block;
        to.owner = from.owner;
    }

    void tell(Value& to, std::int64_t size) {
        let_go(to);
        to.data = nowhere.data();
        to.dims.assign({size, 0});
    }

    // Gives each output of a prepared run its memory, and tells the run where.
    void place_outputs(const ProgramStep& step);

    // What outputs find in the memory of inputs that they go on with, and so need not have anew.
    static std::int64_t bytes_there(const ProgramStep& step);

    // After a run: no value of it is left.
    void clear() noexcept;

   private:
    void keep_free(std::shared_ptr<ValueBlock> block);
    void use(ValueBlock& block, std::int64_t bytes);
    void go_on(const ProgramStep& step, std::uint32_t start, std::int64_t bytes, Value& value);

    std::vector<std::shared_ptr<ValueBlock>> free_blocks_;
    std::int64_t held_ = 0;
};

}  // namespace anyshape
