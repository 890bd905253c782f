#include "core/program.h"

#include <utility>

#include "core/failures.h"
#include "core/validate.h"

namespace anyshape {

std::vector<std::int64_t> in_order(std::span<const std::int64_t> values, const Order& order) {
    if (order.empty()) return {values.begin(), values.end()};
    std::vector<std::int64_t> ordered(values.size());
    for (std::size_t axis = 0; axis < order.size(); ++axis) ordered[axis] = values[order[axis]];
    return ordered;
}

Program::Program(ProgramDescription description) : description_(std::move(description)) {
    validate(description_);
    dim_begins_.push_back(0);
    for (const Input& input : description_.inputs) {
        dim_begins_.push_back(dim_begins_.back() + input.rank);
    }
    is_start_.resize(description_.inputs.size());
    output_dim_begins_.push_back(0);
    for (const Output& output : description_.outputs) {
        output_dim_begins_.push_back(output_dim_begins_.back() + output.dims.size());
        if (output.start) is_start_[*output.start] = true;
    }
    block_begins_.push_back(0);
    for (const Step& step : description_.steps) {
        block_begins_.push_back(block_begins_.back() + step.block.size());
    }
    number_arena_buffers();
    count_addresses();
}

void Program::count_addresses() {
    std::vector<BufferKind> kinds;  // of what a buffer is a name for
    for (const Buffer& buffer : description_.buffers) {
        kinds.push_back(buffer.kind == BufferKind::alias ? kinds[buffer.of] : buffer.kind);
    }
    for (const Step& step : description_.steps) {
        for (const Source& source : step.block) {
            if (source.kind != SourceKind::address) continue;
            const BufferKind kind = kinds[static_cast<std::size_t>(source.value)];
            arena_addresses_ += kind == BufferKind::arena;
            call_addresses_ += kind == BufferKind::input || kind == BufferKind::output;
        }
    }
}

void Program::number_arena_buffers() {
    const auto& buffers = description_.buffers;
    std::vector<std::uint32_t> number(buffers.size());
    std::vector<Lifetime> lifetimes;
    for (std::uint32_t index = 0; index < buffers.size(); ++index) {
        if (buffers[index].kind != BufferKind::arena) continue;
        number[index] = static_cast<std::uint32_t>(arena_buffers_.size());
        arena_buffers_.push_back(index);
        lifetimes.push_back(buffers[index].lifetime);
    }
    std::vector<BufferPair> pairs;
    for (const std::uint32_t index : arena_buffers_) {
        for (const std::uint32_t other : buffers[index].conflicts) {
            pairs.emplace_back(number[index], number[other]);
        }
    }
    conflicts_ = Conflicts(std::move(lifetimes), pairs);
}

}  // namespace anyshape
