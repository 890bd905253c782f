#include "core/worklist_kernels.h"

#include <algorithm>
#include <cstdint>

namespace anyshape {
namespace {

struct Sizes {
    std::int64_t tokens, choices, groups, capacity;

    std::int64_t rows() const { return tokens * choices; }
};

// A key as the group that it names; keys that are none are greater than any, negative ones too.
template <typename T>
std::uint64_t group_of(T key) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(key));
}

// Where each group begins, from the number of its keys; `limits` are where it ends. Gives the end of
// the last one.
std::int64_t place_groups(std::int64_t* begins, std::int64_t* limits, const Sizes& sizes) {
    std::int64_t next = 0;
    for (std::int64_t group = 0; group < sizes.groups; ++group) {
        const std::int64_t taken = std::min(begins[group], sizes.capacity);
        begins[group] = next;
        next += taken;
        limits[group] = next;
    }
    return next;
}

std::int64_t* workspace_of(std::int64_t address, std::int64_t worker, std::int64_t groups) {
    constexpr std::int64_t words_of_line = 8;
    const std::int64_t part = (groups + words_of_line - 1) / words_of_line * words_of_line;
    return reinterpret_cast<std::int64_t*>(address) + worker * part;
}

// `ends` are counts, then how far each group has come, and so its end when all rows are placed.
template <typename T>
void worklist_kernel(const std::int64_t* block, std::int64_t, std::int64_t, std::int64_t worker) {
    const auto* keys = reinterpret_cast<const T*>(block[0]);
    auto* order = reinterpret_cast<std::int64_t*>(block[1]);
    auto* ends = reinterpret_cast<std::int64_t*>(block[2]);
    auto* position = reinterpret_cast<std::int64_t*>(block[3]);
    auto* source = reinterpret_cast<std::int64_t*>(block[4]);
    const Sizes sizes{block[6], block[7], block[8], block[9]};
    std::int64_t* limits = workspace_of(block[5], worker, sizes.groups);
    const auto groups = static_cast<std::uint64_t>(sizes.groups);

    std::fill_n(ends, sizes.groups, 0);
    for (std::int64_t row = 0; row < sizes.rows(); ++row) {
        const std::uint64_t group = group_of(keys[row]);
        if (group < groups) ++ends[group];
    }
    std::int64_t left_out = place_groups(ends, limits, sizes);
    for (std::int64_t token = 0, row = 0; token < sizes.tokens; ++token) {
        for (const std::int64_t last = row + sizes.choices; row < last; ++row) {
            const std::uint64_t group = group_of(keys[row]);
            const bool taken = group < groups && ends[group] < limits[group];
            const std::int64_t place = taken ? ends[group]++ : left_out++;
            order[place] = row;
            position[row] = place;
            source[place] = token;
        }
    }
}

constexpr NamedKernel kernels[] = {
    {"worklist_i32", worklist_kernel<std::int32_t>},
    {"worklist_i64", worklist_kernel<std::int64_t>},
};

}  // namespace

std::span<const NamedKernel> worklist_kernels() noexcept { return kernels; }

}  // namespace anyshape
