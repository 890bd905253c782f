#include "core/program.h"

#include <algorithm>
#include <utility>

#include "core/overloaded.h"
#include "core/validate.h"

namespace anyshape {

std::vector<std::int64_t> in_order(std::span<const std::int64_t> values, const Order& order) {
    if (order.empty()) return {values.begin(), values.end()};
    std::vector<std::int64_t> ordered(values.size());
    for (std::size_t axis = 0; axis < order.size(); ++axis) ordered[axis] = values[order[axis]];
    return ordered;
}

std::span<const Source> Step::words_of(std::size_t variant) const noexcept {
    const std::size_t start = variants[variant].start;
    std::size_t end = block.size();
    for (const Variant& other : variants) {
        if (other.start > start) end = std::min<std::size_t>(end, other.start);
    }
    return std::span(block).subspan(start, end - start);
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
    number_arena_buffers();
    count_block_words();
    count_addresses();
}

void Program::count_block_words() {
    for (const Step& step : description_.steps) {
        std::size_t most = 0;
        for (std::size_t variant = 0; variant < step.variants.size(); ++variant) {
            most = std::max(most, step.words_of(variant).size());
        }
        most_block_words_ += most;
    }
}

void Program::count_addresses() {
    enum class Base : std::uint8_t { constant, arena, call };
    std::vector<Base> bases;  // by buffer; that of an alias is that of what it is a name for
    for (const Buffer& buffer : description_.buffers) {
        bases.push_back(
            std::visit(Overloaded{[](const InputStore&) { return Base::call; },
                                  [](const OutputStore&) { return Base::call; },
                                  [](const ConstantStore&) { return Base::constant; },
                                  [](const ArenaStore&) { return Base::arena; },
                                  [&](const AliasStore& alias) { return bases[alias.of]; }},
                       buffer.store));
    }
    for (const Step& step : description_.steps) {
        for (const Source& source : step.block) {
            const auto* address = std::get_if<Address>(&source);
            if (address == nullptr) continue;
            arena_addresses_ += bases[address->buffer] == Base::arena;
            call_addresses_ += bases[address->buffer] == Base::call;
        }
    }
}

void Program::number_arena_buffers() {
    const auto& buffers = description_.buffers;
    std::vector<std::uint32_t> number(buffers.size());
    std::vector<Lifetime> lifetimes;
    for (std::uint32_t index = 0; index < buffers.size(); ++index) {
        const auto* store = std::get_if<ArenaStore>(&buffers[index].store);
        if (store == nullptr) continue;
        number[index] = static_cast<std::uint32_t>(arena_buffers_.size());
        arena_buffers_.push_back({index, store->per_worker});
        lifetimes.push_back(store->lifetime);
    }
    std::vector<BufferPair> pairs;
    for (const ArenaBuffer arena : arena_buffers_) {
        for (const std::uint32_t other :
             std::get<ArenaStore>(buffers[arena.buffer].store).conflicts) {
            pairs.emplace_back(number[arena.buffer], number[other]);
        }
    }
    conflicts_ = Conflicts(std::move(lifetimes), pairs);
}

}  // namespace anyshape
