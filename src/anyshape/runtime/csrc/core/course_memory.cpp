#include "core/course_memory.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/failures.h"
#include "core/size_math.h"

namespace anyshape {
namespace {

// More than a step needs, fewer than anyone would notice.
constexpr std::size_t max_free_blocks = 32;

std::int64_t bytes_of(const Value& value, std::int64_t item_bytes) {
    std::int64_t bytes = item_bytes;
    for (const std::int64_t size : value.dims) bytes *= size;
    return bytes;
}

// Whether a value can become one of so many bytes where it is: nobody else needs it.
bool has_room(const Value& from, std::uint32_t slot, const Slots& over, std::int64_t bytes) {
    return from.block != nullptr && from.block.use_count() == 1 &&
           from.data == from.block->data() && std::ranges::find(over, slot) != over.end() &&
           from.block->bytes() >= static_cast<std::size_t>(bytes);
}

}  // namespace

std::int64_t bytes_of_shape(const Value& value, std::uint32_t item_bytes) {
    std::optional<std::int64_t> bytes = item_bytes;
    if (std::ranges::find(value.dims, 0) != value.dims.end()) return 0;
    for (const std::int64_t size : value.dims) {
        if (bytes) bytes = checked_multiply(*bytes, size);
    }
    return bytes.value_or(max_bytes);
}

// ---- blocks ------------------------------------------------------------------------------------

std::shared_ptr<ValueBlock> CourseMemory::take(std::int64_t bytes) {
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 64));
    for (std::size_t i = free_blocks_.size(); i-- > 0;) {
        const std::size_t there = free_blocks_[i]->bytes();
        if (there < wanted || there >= 2 * wanted) continue;
        std::swap(free_blocks_[i], free_blocks_.back());
        std::shared_ptr<ValueBlock> block = std::move(free_blocks_.back());
        free_blocks_.pop_back();
        use(*block, bytes);
        return block;
    }
    auto block = std::make_shared<ValueBlock>(Pool::process().take(wanted), 0);
    use(*block, bytes);
    return block;
}

void CourseMemory::keep_free(std::shared_ptr<ValueBlock> block) {
    use(*block, 0);
    if (free_blocks_.size() < max_free_blocks) free_blocks_.push_back(std::move(block));
}

// Of a block that uses nothing yet, or less.
void CourseMemory::use(ValueBlock& block, std::int64_t bytes) {
    held_ += bytes - block.used;
    block.used = bytes;
}

void CourseMemory::clear() noexcept {
    free_blocks_.clear();
    held_ = 0;
}

// ---- outputs of programs -----------------------------------------------------------------------

void CourseMemory::place_outputs(const ProgramStep& step) {
    const Specialization& specialization = *step.run.specialization();
    const Program& program = *specialization.program;
    for (std::size_t i = 0; i < step.results.size(); ++i) {
        const Output& output = program.outputs()[i];
        const std::int64_t bytes = specialization.buffer_bytes[output.buffer];
        Value& value = step.slots[step.results[i]];
        let_go(value);
        if (output.start) {
            go_on(step, *output.start, bytes, value);
        } else {
            value.block = take(bytes);
        }
        value.data = value.block->data();
        const auto dims = std::span(specialization.output_dims)
                              .subspan(program.output_dim_begin(i), output.dims.size());
        value.dims.assign(dims.begin(), dims.end());
        step.run.set_output(i, value.data);
    }
}

std::int64_t CourseMemory::bytes_there(const ProgramStep& step) {
    const Specialization& specialization = *step.run.specialization();
    std::int64_t there = 0;
    for (const Output& output : specialization.program->outputs()) {
        if (!output.start) continue;
        const std::int64_t bytes = specialization.buffer_bytes[output.buffer];
        const std::uint32_t slot = step.slot_of(*output.start);
        const Value& from = step.slots[slot];
        if (has_room(from, slot, step.over, bytes)) {
            there += std::min(from.block->used, bytes);
        }
    }
    return there;
}

// An output that begins with an input: on its memory, if nobody else needs that and it has room.
// Blocks are powers of two, so what grows by a little is copied seldom.
void CourseMemory::go_on(const ProgramStep& step, std::uint32_t start, std::int64_t bytes,
                         Value& value) {
    const std::uint32_t slot = step.slot_of(start);
    const Value& from = step.slots[slot];
    if (has_room(from, slot, step.over, bytes)) {
        value.block = from.block;
        use(*value.block, bytes);
        return;
    }
    const std::int64_t item_bytes = step.run.program().inputs()[start].type.bytes();
    const std::int64_t copied = bytes_of(from, item_bytes);
    if (copied > bytes) throw ImpossibleSize("bytes of an output that goes on", bytes);
    value.block = take(bytes);
    if (copied > 0) {
        std::memcpy(value.block->data(), from.data, static_cast<std::size_t>(copied));
    }
    step.run.set_input(start, value.block->data());
}

}  // namespace anyshape
