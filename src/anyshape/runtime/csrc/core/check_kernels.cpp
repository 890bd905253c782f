#include "core/check_kernels.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace anyshape {
namespace {

constexpr std::int64_t offence_words = 4;
constexpr std::int64_t stride = 64;  // elements between looks at what was found: one loop of vectors

// The range as an interval of T: `low <= element <= high`. It may hold no element at all.
template <typename T>
struct Interval {
    T low, high;
    bool empty;

    bool has(T element) const { return !empty && low <= element && element <= high; }
};

template <typename T>
Interval<T> interval(std::int64_t size, bool from_end) {
    using Limits = std::numeric_limits<T>;
    const std::int64_t low = from_end ? -size : 0, last = size - 1;
    T least = Limits::min(), most = Limits::max();
    if constexpr (sizeof(T) == 8 && std::is_unsigned_v<T>) {
        least = 0;
        most = static_cast<T>(std::max<std::int64_t>(last, 0));
    } else {
        least = static_cast<T>(std::max<std::int64_t>(low, least));
        most = static_cast<T>(std::clamp<std::int64_t>(last, least, most));
    }
    return {least, most, size <= 0};
}

// Whether one of `stride` elements is outside. Vectors of 64 bits are compared one lane at a time on
// machines without SSE4.2, but subtracted everywhere: as low <= 0 <= high, an element is outside if
// and only if one of both differences has its sign bit set, wrapped around or not.
template <typename T>
bool any_outside(const T* x, const Interval<T>& range) {
    if constexpr (std::is_same_v<T, std::int64_t>) {
        using Word = std::uint64_t;
        const auto low = static_cast<Word>(range.low), high = static_cast<Word>(range.high);
        Word signs = 0;
        for (std::int64_t i = 0; i < stride; ++i) {
            const auto element = static_cast<Word>(x[i]);
            signs |= (element - low) | (high - element);
        }
        return signs >> 63 != 0;
    } else {
        bool outside = false;
        for (std::int64_t i = 0; i < stride; ++i) {
            outside |= (x[i] < range.low) | (x[i] > range.high);
        }
        return outside;
    }
}

// The position of the first element outside; `count` if there is none.
template <typename T>
std::int64_t first_outside(const T* x, std::int64_t count, const Interval<T>& range) {
    if (range.empty) {
        return 0;
    }
    std::int64_t from = 0;
    while (from + stride <= count && !any_outside(x + from, range)) {
        from += stride;
    }
    while (from < count && range.has(x[from])) {
        ++from;
    }
    return from;
}

template <typename T>
std::int64_t as_word(T element) {
    if constexpr (sizeof(T) == 8 && std::is_unsigned_v<T>) {
        constexpr T largest = std::numeric_limits<std::int64_t>::max();
        return static_cast<std::int64_t>(std::min(element, largest));
    } else {
        return static_cast<std::int64_t>(element);
    }
}

template <typename T>
void check_kernel(const std::int64_t* block, std::int64_t, std::int64_t, std::int64_t) {
    const auto* x = reinterpret_cast<const T*>(block[0]);
    const auto* earlier = reinterpret_cast<const std::int64_t*>(block[1]);
    auto* offence = reinterpret_cast<std::int64_t*>(block[2]);
    const std::int64_t count = block[3], number = block[4], size = block[5], live = block[7];
    if (earlier[0] >= 0) {
        std::copy_n(earlier, offence_words, offence);
        return;
    }
    const Interval<T> range = interval<T>(size, block[6] != 0);
    const std::int64_t position = live == 0 ? count : first_outside(x, count, range);
    const bool found = position < count;
    offence[0] = found ? number : -1;
    offence[1] = found ? position : 0;
    offence[2] = found ? as_word(x[position]) : 0;
    offence[3] = found ? size : 0;
}

constexpr NamedKernel kernels[] = {
    {"first_outside_i8", check_kernel<std::int8_t>},
    {"first_outside_i16", check_kernel<std::int16_t>},
    {"first_outside_i32", check_kernel<std::int32_t>},
    {"first_outside_i64", check_kernel<std::int64_t>},
    {"first_outside_u8", check_kernel<std::uint8_t>},
    {"first_outside_u16", check_kernel<std::uint16_t>},
    {"first_outside_u32", check_kernel<std::uint32_t>},
    {"first_outside_u64", check_kernel<std::uint64_t>},
    {"first_outside_bool", check_kernel<std::uint8_t>},
};

}  // namespace

std::span<const NamedKernel> check_kernels() noexcept { return kernels; }

}  // namespace anyshape
