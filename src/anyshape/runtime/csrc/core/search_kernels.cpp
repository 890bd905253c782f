#include "core/search_kernels.h"

#include <algorithm>

namespace anyshape {
namespace {

// The number of steps depends on the length alone, and each chooses a half without a branch.
template <typename T, bool right>
std::int64_t place_of(const T* sorted, std::int64_t length, T value) {
    std::int64_t first = 0;
    while (length > 0) {
        const std::int64_t half = length / 2;
        const T middle = sorted[first + half];
        const bool after = right ? !(middle > value) : !(middle >= value);
        first = after ? first + half + 1 : first;
        length = after ? length - half - 1 : half;
    }
    return first;
}

template <typename T, bool right>
void search(const std::int64_t* block, std::int64_t first, std::int64_t last) {
    const auto* sorted = reinterpret_cast<const T*>(block[0]);
    const auto* x = reinterpret_cast<const T*>(block[1]);
    auto* places = reinterpret_cast<std::int64_t*>(block[2]);
    const std::int64_t rows = block[3], length = block[4], count = block[5];
    const bool shared = block[7] != 0;
    const std::int64_t end = std::min(rows * count, last * search_task_elements);
    for (std::int64_t at = first * search_task_elements; at < end;) {
        const std::int64_t row = at / count;
        const T* own = sorted + (shared ? 0 : row * length);
        for (const std::int64_t until = std::min(end, (row + 1) * count); at < until; ++at) {
            places[at] = place_of<T, right>(own, length, x[at]);
        }
    }
}

template <typename T>
void search_kernel(const std::int64_t* block, std::int64_t first, std::int64_t last, std::int64_t) {
    block[6] != 0 ? search<T, true>(block, first, last) : search<T, false>(block, first, last);
}

constexpr NamedKernel kernels[] = {
    {"search_f32", search_kernel<float>},         {"search_f64", search_kernel<double>},
    {"search_i64", search_kernel<std::int64_t>},  {"search_i32", search_kernel<std::int32_t>},
    {"search_i16", search_kernel<std::int16_t>},  {"search_i8", search_kernel<std::int8_t>},
    {"search_u64", search_kernel<std::uint64_t>}, {"search_u32", search_kernel<std::uint32_t>},
    {"search_u16", search_kernel<std::uint16_t>}, {"search_u8", search_kernel<std::uint8_t>},
};

}  // namespace

std::span<const NamedKernel> search_kernels() noexcept { return kernels; }

}  // namespace anyshape
