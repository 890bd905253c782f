// Memory for all bindings up to a greatest one: placed once, so that no later call asks for any.
//
// Of each buffer in the arena the most bytes that any binding needs, and a place for so many. Which
// buffers conflict does not depend on sizes, so these places hold for every binding: level 2 places
// nothing. The greatest binding alone would not do: a workspace is that of the variant which the
// sizes choose, and a dim may fall as an axis grows. So level 2's numbers are computed for each.
//
// Ownership: a StaticMemory owns its tables. Thread-safety: immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/memory_plan.h"
#include "core/program.h"
#include "core/run_options.h"

namespace anyshape {

// The sizes of one symbol: first, first + step, … last.
struct SymbolRange {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t step = 1;
};

// All bindings of some ranges, one after the other, the greatest first.
class Bindings {
   public:
    explicit Bindings(std::span<const SymbolRange> ranges);

    std::span<const std::int64_t> symbols() const noexcept { return symbols_; }
    bool next() noexcept;  // false if that was the last one

   private:
    std::span<const SymbolRange> ranges_;
    std::vector<std::int64_t> symbols_;
};

struct OutputBytes {
    std::int64_t least = 0;
    std::int64_t most = 0;
};

struct StaticMemory {
    std::vector<std::int64_t> bytes;  // of each arena buffer, slices of all workers together
    MemoryPlan plan;
    std::int64_t lower_bound_bytes = 0;
    std::vector<OutputBytes> outputs;

    std::int64_t output_bytes() const noexcept;  // of the greatest outputs together
};

// For runs with as many threads as `options` says. Bindings that the shape program refuses do not
// count. Throws ImpossibleSize.
StaticMemory static_memory(const Program& program, std::span<const SymbolRange> ranges,
                           const RunOptions& options);

}  // namespace anyshape
