#include "core/static_memory.h"

#include <algorithm>
#include <string>

#include "core/failures.h"
#include "core/size_math.h"

namespace anyshape {
namespace {

std::int64_t bytes_of(const Program& program, std::span<const std::int64_t> words,
                      std::uint32_t buffer) {
    const std::int64_t bytes = words[program.buffers()[buffer].bytes];
    if (bytes < 0 || bytes > max_bytes) {
        throw ImpossibleSize("bytes of buffer " + std::to_string(buffer), bytes);
    }
    return bytes;
}

void widen(StaticMemory& memory, const Program& program, std::span<const std::int64_t> words,
           bool is_first) {
    const auto& arena = program.arena_buffers();
    for (std::size_t i = 0; i < arena.size(); ++i) {
        memory.bytes[i] = std::max(memory.bytes[i], bytes_of(program, words, arena[i].buffer));
    }
    for (std::size_t i = 0; i < memory.outputs.size(); ++i) {
        const std::int64_t bytes = bytes_of(program, words, program.outputs()[i].buffer);
        OutputBytes& output = memory.outputs[i];
        output = is_first ? OutputBytes{bytes, bytes}
                          : OutputBytes{std::min(output.least, bytes), std::max(output.most, bytes)};
    }
}

void give_each_worker_a_slice(StaticMemory& memory, const Program& program, int workers) {
    const auto& arena = program.arena_buffers();
    for (std::size_t i = 0; i < arena.size(); ++i) {
        if (!arena[i].per_worker) continue;
        const auto total = checked_multiply(memory.bytes[i], workers);
        if (!total) {
            throw ImpossibleSize("bytes of buffer " + std::to_string(arena[i].buffer),
                                 memory.bytes[i]);
        }
        memory.bytes[i] = *total;
    }
}

}  // namespace

Bindings::Bindings(std::span<const SymbolRange> ranges) : ranges_(ranges) {
    for (const SymbolRange& range : ranges) symbols_.push_back(range.last);
}

bool Bindings::next() noexcept {
    for (std::size_t i = symbols_.size(); i-- > 0;) {
        symbols_[i] -= ranges_[i].step;
        if (symbols_[i] >= ranges_[i].first) return true;
        symbols_[i] = ranges_[i].last;
    }
    return false;
}

std::int64_t StaticMemory::output_bytes() const noexcept {
    std::int64_t total = 0;
    for (const OutputBytes& output : outputs) {
        total = checked_add(total, output.most).value_or(max_bytes);
    }
    return total;
}

StaticMemory static_memory(const Program& program, std::span<const SymbolRange> ranges,
                           const RunOptions& options) {
    StaticMemory memory;
    memory.bytes.resize(program.arena_buffers().size());
    memory.outputs.resize(program.outputs().size());
    std::vector<std::int64_t> words(program.description().words);
    bool is_first = true;
    Bindings bindings(ranges);
    do {
        const auto check = program.description().shape(bindings.symbols().data(), words.data());
        if (check != all_checks_hold) continue;
        widen(memory, program, words, is_first);
        is_first = false;
    } while (bindings.next());
    give_each_worker_a_slice(memory, program, options.threads);
    const Conflicts& conflicts = program.conflicts();
    memory.lower_bound_bytes = most_live_bytes(memory.bytes, conflicts.lifetimes());
    memory.plan = plan_memory(memory.bytes, conflicts, memory.lower_bound_bytes);
    return memory;
}

}  // namespace anyshape
