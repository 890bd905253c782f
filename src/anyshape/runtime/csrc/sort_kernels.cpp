#include "sort_kernels.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace anyshape {
namespace {

// Storage of 16-bit floats: their bits, with the number of bits of the exponent.
template <int exponent_bits>
struct Half {
    std::uint16_t bits;
};

// --- keys: unsigned integers that are ordered as the elements are --------------------------------

// The bits of a float in the order of its values: NaNs last and equal, zeros equal.
template <std::unsigned_integral Bits>
Bits float_key(Bits bits, Bits infinity) {
    constexpr Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
    const auto magnitude = static_cast<Bits>(bits & static_cast<Bits>(~sign));
    if (magnitude > infinity) return static_cast<Bits>(~Bits{0});
    if (magnitude == 0) return sign;
    return static_cast<Bits>(bits & sign ? ~bits : bits | sign);
}

std::uint32_t key_of(float x) {
    return float_key(std::bit_cast<std::uint32_t>(x), std::uint32_t{0x7f800000});
}

std::uint64_t key_of(double x) {
    return float_key(std::bit_cast<std::uint64_t>(x), std::uint64_t{0x7ff0000000000000});
}

template <int exponent_bits>
std::uint16_t key_of(Half<exponent_bits> x) {
    constexpr auto infinity = ((1u << exponent_bits) - 1) << (15 - exponent_bits);
    return float_key(x.bits, static_cast<std::uint16_t>(infinity));
}

template <std::integral T>
std::make_unsigned_t<T> key_of(T x) {
    using Bits = std::make_unsigned_t<T>;
    if constexpr (std::unsigned_integral<T>) return x;
    return static_cast<Bits>(static_cast<Bits>(x) ^ (Bits{1} << (sizeof(T) * 8 - 1)));
}

// --- entries: a key and where it was, compared as one --------------------------------------------

struct WideEntry {
    std::uint64_t key;
    std::int64_t place;

    friend auto operator<=>(const WideEntry&, const WideEntry&) = default;
};

// Keys of up to 32 bits share a word with the place: rows of more than 2^32 elements do not fit.
struct NarrowEntry {
    std::uint64_t word;

    friend auto operator<=>(const NarrowEntry&, const NarrowEntry&) = default;
};

WideEntry make_entry(std::uint64_t key, std::int64_t place, WideEntry) { return {key, place}; }
NarrowEntry make_entry(std::uint64_t key, std::int64_t place, NarrowEntry) {
    return {key << 32 | static_cast<std::uint64_t>(place)};
}
std::int64_t place_of(WideEntry entry) { return entry.place; }
std::int64_t place_of(NarrowEntry entry) {
    return static_cast<std::int64_t>(entry.word & 0xffffffff);
}

struct Task {
    std::int64_t length, inner, kept;
    bool descending;
};

template <typename T, typename Entry>
void sort_row(const T* x, T* values, std::int64_t* places, Entry* entries, const Task& task) {
    using Key = decltype(key_of(T{}));
    const Key flip = task.descending ? static_cast<Key>(~Key{0}) : Key{0};
    for (std::int64_t i = 0; i < task.length; ++i) {
        const auto key = static_cast<Key>(key_of(x[i * task.inner]) ^ flip);
        entries[i] = make_entry(key, i, Entry{});
    }
    if (task.kept < task.length) {
        std::nth_element(entries, entries + task.kept, entries + task.length);
    }
    std::sort(entries, entries + task.kept);
    for (std::int64_t i = 0; i < task.kept; ++i) {
        const std::int64_t place = place_of(entries[i]);
        values[i * task.inner] = x[place * task.inner];
        places[i * task.inner] = place;
    }
}

template <typename T>
void sort_kernel(const std::int64_t* block, std::int64_t first, std::int64_t last,
                 std::int64_t worker) {
    const auto* x = reinterpret_cast<const T*>(block[0]);
    auto* values = reinterpret_cast<T*>(block[1]);
    auto* places = reinterpret_cast<std::int64_t*>(block[2]);
    const Task task{block[5], block[6], block[7], block[8] != 0};
    constexpr std::int64_t line = 64;
    const std::int64_t part = (task.length * sort_workspace_bytes + line - 1) / line * line;
    auto* workspace = reinterpret_cast<std::byte*>(block[3]) + worker * part;
    constexpr bool narrow = sizeof(decltype(key_of(T{}))) <= 4;
    for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t outside = row / task.inner, inside = row % task.inner;
        const T* from = x + outside * task.length * task.inner + inside;
        const std::int64_t to = outside * task.kept * task.inner + inside;
        if (narrow && task.length <= std::int64_t{1} << 32) {
            auto* entries = reinterpret_cast<NarrowEntry*>(workspace);
            sort_row(from, values + to, places + to, entries, task);
        } else {
            auto* entries = reinterpret_cast<WideEntry*>(workspace);
            sort_row(from, values + to, places + to, entries, task);
        }
    }
}

constexpr NamedKernel kernels[] = {
    {"sort_f32", sort_kernel<float>},
    {"sort_f64", sort_kernel<double>},
    {"sort_f16", sort_kernel<Half<5>>},
    {"sort_bf16", sort_kernel<Half<8>>},
    {"sort_i8", sort_kernel<std::int8_t>},
    {"sort_i16", sort_kernel<std::int16_t>},
    {"sort_i32", sort_kernel<std::int32_t>},
    {"sort_i64", sort_kernel<std::int64_t>},
    {"sort_u8", sort_kernel<std::uint8_t>},
    {"sort_u16", sort_kernel<std::uint16_t>},
    {"sort_u32", sort_kernel<std::uint32_t>},
    {"sort_u64", sort_kernel<std::uint64_t>},
    {"sort_bool", sort_kernel<std::uint8_t>},
};

}  // namespace

std::span<const NamedKernel> sort_kernels() noexcept { return kernels; }

}  // namespace anyshape
