// How a program is run; never what it computes. The fields are those of
// anyshape/runtime/options.py.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/size_math.h"

namespace anyshape {

struct RunOptions {
    int threads = 0;                     // at most so many; 0: as many as CPUs are allowed
    std::int64_t team_cost_ns = 10'000;  // runs with less to share do not call the team
    std::int64_t split_cost_ns = 3'000;  // shorter steps are not split
    bool wait_for_team = false;          // when it is busy, instead of going alone
    std::size_t cache_entries = 1024;    // specializations
    std::size_t cache_bytes = std::size_t{64} << 20;
    std::int64_t memory_limit = max_bytes;  // of one run: arena, outputs, copies of inputs
};

}  // namespace anyshape
