#include "core/compact_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "core/sort_keys.h"

namespace anyshape {
namespace {

// --- 64 elements as bits -------------------------------------------------------------------------

constexpr std::int64_t group = 64;  // elements that are looked at together

// As stored: one byte. That of a caller may have any value but 0 for true.
enum class Bool : std::uint8_t {};

template <typename T>
bool is_nonzero(T x) {
    return x != T{};
}

template <int exponent_bits>
bool is_nonzero(Half<exponent_bits> x) {
    return (x.bits & 0x7fff) != 0;
}

using Flags = std::array<std::uint64_t, group / 8>;  // a byte for each element, 0 or 1

template <typename T>
Flags flags_of_group(const T* x) {
    Flags flags;
    std::array<std::uint8_t, group> bytes;
    for (std::size_t i = 0; i < group; ++i) bytes[i] = is_nonzero(x[i]);
    std::memcpy(flags.data(), bytes.data(), group);
    return flags;
}

// `count` elements, the others taken as zeros.
template <typename T>
Flags flags_of(const T* x, std::int64_t count) {
    if (count >= group) return flags_of_group(x);
    std::array<T, group> padded{};
    std::copy_n(x, count, padded.data());
    return flags_of_group(padded.data());
}

// How many are set: bytes of the sum are at most 8, and their sum at most 64.
std::int64_t count_of(const Flags& flags) {
    const std::uint64_t sums = std::accumulate(flags.begin(), flags.end(), std::uint64_t{0});
    return static_cast<std::int64_t>(sums * 0x0101010101010101 >> 56);
}

// Byte i of each word becomes bit i: the product adds up eight shifted copies without carries.
std::uint64_t bits_of(const Flags& flags) {
    std::uint64_t bits = 0;
    for (std::size_t word = 0; word < flags.size(); ++word) {
        bits |= (flags[word] * 0x0102040810204080 >> 56) << (8 * word);
    }
    return bits;
}

template <typename T>
std::int64_t count_nonzero(const T* x, std::int64_t count) {
    std::int64_t found = 0;
    for (std::int64_t from = 0; from < count; from += group) {
        found += count_of(flags_of(x + from, count - from));
    }
    return found;
}

// --- parts ---------------------------------------------------------------------------------------

struct Sizes {
    std::int64_t size, parts, length;
};

struct Range {
    std::int64_t from, until;
};

Range range_of(const Sizes& sizes, std::int64_t part) {
    if (sizes.parts == 0) return {0, sizes.size};
    const std::int64_t from = std::min(sizes.size, part * sizes.length);
    return {from, std::min(sizes.size, from + sizes.length)};
}

template <typename T>
void part_counts_kernel(const std::int64_t* block, std::int64_t first, std::int64_t last,
                        std::int64_t) {
    const auto* x = reinterpret_cast<const T*>(block[0]);
    auto* counts = reinterpret_cast<std::int64_t*>(block[1]);
    const Sizes sizes{block[2], block[3], block[4]};
    for (std::int64_t part = first; part < last; ++part) {
        const auto [from, until] = range_of(sizes, part);
        counts[part] = count_nonzero(x + from, until - from);
    }
}

// The row of a part's first result. There are no more results than elements before the part, so
// nothing is written behind the last row, whatever the counts say.
std::int64_t first_row(const std::int64_t* counts, std::int64_t parts, std::int64_t elements) {
    std::uint64_t row = 0;
    for (const std::int64_t count : std::span(counts, static_cast<std::size_t>(parts))) {
        row += static_cast<std::uint64_t>(count);
    }
    return static_cast<std::int64_t>(std::min(row, static_cast<std::uint64_t>(elements)));
}

// Runs `write` over the groups of some parts: (from, flags, found, row) -> nothing, where `row` is
// that of the first of `found` results. The task of the last part writes how many there are.
template <typename T, typename Write>
void compact(const T* x, const std::int64_t* counts, std::int64_t* count, const Sizes& sizes,
             std::int64_t first, std::int64_t last, const Write& write) {
    const std::int64_t begin = range_of(sizes, first).from, until = range_of(sizes, last - 1).until;
    std::int64_t row = first_row(counts, sizes.parts ? first : 0, begin);
    for (std::int64_t from = begin; from < until; from += group) {
        const Flags flags = flags_of(x + from, until - from);
        const std::int64_t found = count_of(flags);
        if (found != 0) write(from, flags, found, row);
        row += found;
    }
    if (last >= sizes.parts) *count = row;
}

// --- where they are ------------------------------------------------------------------------------

constexpr std::int64_t few = 24;  // of a group: it is quicker to go from one to the next

void write_places(std::int64_t from, const Flags& flags, std::int64_t found, std::int64_t* places) {
    if (found == group) {
        for (std::int64_t i = 0; i < group; ++i) places[i] = from + i;
    } else if (found <= few) {
        for (std::uint64_t bits = bits_of(flags); bits != 0; bits &= bits - 1) {
            *places++ = from + std::countr_zero(bits);
        }
    } else {
        std::array<std::uint8_t, group> bytes;
        std::memcpy(bytes.data(), flags.data(), group);
        // Each place is overwritten by the next element until one is kept there: no branches. It
        // ends with the last result, as what is behind may be another task's.
        const std::int64_t* const end = places + found;
        for (std::size_t i = 0; places != end; ++i) {
            *places = from + static_cast<std::int64_t>(i);
            places += bytes[i];
        }
    }
}

// The indices of elements that come in ascending order. Those along all axes but the last change
// when a row of the last axis is left. `known` is the rank, where it is low; 0 for any.
template <std::size_t known>
class Position {
   public:
    Position(const std::int64_t* axes, std::int64_t rank)
        : axes_(axes), rank_(known ? known : static_cast<std::size_t>(rank)) {}

    void write(std::int64_t element, std::int64_t* indices) {
        const std::size_t last = (known ? known : rank_) - 1;
        const std::int64_t length = axes_[last];
        if (element - begin_ >= length) move_to(element, last, length);
        for (std::size_t axis = 0; axis < last; ++axis) indices[axis] = outer_[axis];
        indices[last] = element - begin_;
    }

   private:
    static constexpr std::size_t most_axes = 64;

    void move_to(std::int64_t element, std::size_t last, std::int64_t length) {
        if (element - begin_ < 2 * length) {  // the next row
            begin_ += length;
            for (std::size_t axis = last; axis-- > 0; outer_[axis] = 0) {
                if (++outer_[axis] < axes_[axis]) return;
            }
            return;
        }
        std::int64_t row = element / length;
        begin_ = row * length;
        for (std::size_t axis = last; axis-- > 0; row /= axes_[axis]) {
            outer_[axis] = row % axes_[axis];
        }
    }

    const std::int64_t* axes_;
    std::size_t rank_;
    std::int64_t begin_ = 0;  // where the row begins
    std::array<std::int64_t, known ? known : most_axes> outer_{};
};

template <std::size_t known, typename T>
void compact_indices(const T* x, const std::int64_t* counts, std::int64_t* places,
                     std::int64_t* count, const std::int64_t* sizes, std::int64_t first,
                     std::int64_t last) {
    const std::int64_t rank = sizes[3];
    Position<known> position(sizes + 4, rank);
    compact(x, counts, count, {sizes[0], sizes[1], sizes[2]}, first, last,
            [&](std::int64_t from, const Flags& flags, std::int64_t, std::int64_t row) {
                std::int64_t* to = places + row * rank;
                for (std::uint64_t bits = bits_of(flags); bits != 0; bits &= bits - 1, to += rank) {
                    position.write(from + std::countr_zero(bits), to);
                }
            });
}

template <typename T>
void compact_places_kernel(const std::int64_t* block, std::int64_t first, std::int64_t last,
                           std::int64_t) {
    const auto* x = reinterpret_cast<const T*>(block[0]);
    const auto* counts = reinterpret_cast<const std::int64_t*>(block[1]);
    auto* places = reinterpret_cast<std::int64_t*>(block[2]);
    auto* count = reinterpret_cast<std::int64_t*>(block[3]);
    const std::int64_t* sizes = block + 4;
    switch (sizes[3]) {
        case 0:
            *count = is_nonzero(*x);
            return;
        case 1:
            return compact(
                x, counts, count, {sizes[0], sizes[1], sizes[2]}, first, last,
                [&](std::int64_t from, const Flags& flags, std::int64_t found, std::int64_t row) {
                    write_places(from, flags, found, places + row);
                });
        case 2:
            return compact_indices<2>(x, counts, places, count, sizes, first, last);
        case 3:
            return compact_indices<3>(x, counts, places, count, sizes, first, last);
        case 4:
            return compact_indices<4>(x, counts, places, count, sizes, first, last);
        default:
            return compact_indices<0>(x, counts, places, count, sizes, first, last);
    }
}

// --- rows ----------------------------------------------------------------------------------------

template <typename T>
void write_elements(const T* x, const Flags& flags, std::int64_t found, T* to) {
    if (found == group) {
        std::copy_n(x, group, to);
    } else if (found <= few) {
        for (std::uint64_t bits = bits_of(flags); bits != 0; bits &= bits - 1) {
            *to++ = x[std::countr_zero(bits)];
        }
    } else {
        std::array<std::uint8_t, group> bytes;
        std::memcpy(bytes.data(), flags.data(), group);
        const T* const end = to + found;
        for (std::size_t i = 0; to != end; ++i) {  // as of places
            *to = x[i];
            to += bytes[i];
        }
    }
}

// Rows that follow each other are copied as one.
template <typename T>
void write_rows(const T* x, std::uint64_t bits, std::int64_t width, T* to) {
    while (bits != 0) {
        const int from = std::countr_zero(bits);
        const int rows = std::countr_one(bits >> from);
        to = std::copy_n(x + from * width, rows * width, to);
        if (from + rows >= group) return;
        bits &= ~std::uint64_t{0} << (from + rows);
    }
}

template <typename T>
void compact_rows_kernel(const std::int64_t* block, std::int64_t first, std::int64_t last,
                         std::int64_t) {
    const auto* mask = reinterpret_cast<const Bool*>(block[0]);
    const auto* x = reinterpret_cast<const T*>(block[1]);
    const auto* counts = reinterpret_cast<const std::int64_t*>(block[2]);
    auto* rows = reinterpret_cast<T*>(block[3]);
    auto* count = reinterpret_cast<std::int64_t*>(block[4]);
    const Sizes sizes{block[5], block[6], block[7]};
    const std::int64_t width = block[8];
    compact(mask, counts, count, sizes, first, last,
            [&](std::int64_t from, const Flags& flags, std::int64_t found, std::int64_t row) {
                if (width == 1) {
                    write_elements(x + from, flags, found, rows + row);
                } else {
                    write_rows(x + from * width, bits_of(flags), width, rows + row * width);
                }
            });
}

constexpr NamedKernel kernels[] = {
    {"part_counts_f32", part_counts_kernel<float>},
    {"part_counts_f64", part_counts_kernel<double>},
    {"part_counts_f16", part_counts_kernel<Half<5>>},
    {"part_counts_bf16", part_counts_kernel<Half<8>>},
    {"part_counts_i8", part_counts_kernel<std::uint8_t>},
    {"part_counts_i16", part_counts_kernel<std::uint16_t>},
    {"part_counts_i32", part_counts_kernel<std::uint32_t>},
    {"part_counts_i64", part_counts_kernel<std::uint64_t>},
    {"part_counts_u8", part_counts_kernel<std::uint8_t>},
    {"part_counts_u16", part_counts_kernel<std::uint16_t>},
    {"part_counts_u32", part_counts_kernel<std::uint32_t>},
    {"part_counts_u64", part_counts_kernel<std::uint64_t>},
    {"part_counts_bool", part_counts_kernel<Bool>},
    {"compact_places_f32", compact_places_kernel<float>},
    {"compact_places_f64", compact_places_kernel<double>},
    {"compact_places_f16", compact_places_kernel<Half<5>>},
    {"compact_places_bf16", compact_places_kernel<Half<8>>},
    {"compact_places_i8", compact_places_kernel<std::uint8_t>},
    {"compact_places_i16", compact_places_kernel<std::uint16_t>},
    {"compact_places_i32", compact_places_kernel<std::uint32_t>},
    {"compact_places_i64", compact_places_kernel<std::uint64_t>},
    {"compact_places_u8", compact_places_kernel<std::uint8_t>},
    {"compact_places_u16", compact_places_kernel<std::uint16_t>},
    {"compact_places_u32", compact_places_kernel<std::uint32_t>},
    {"compact_places_u64", compact_places_kernel<std::uint64_t>},
    {"compact_places_bool", compact_places_kernel<Bool>},
    {"compact_rows_f32", compact_rows_kernel<std::uint32_t>},
    {"compact_rows_f64", compact_rows_kernel<std::uint64_t>},
    {"compact_rows_f16", compact_rows_kernel<std::uint16_t>},
    {"compact_rows_bf16", compact_rows_kernel<std::uint16_t>},
    {"compact_rows_i8", compact_rows_kernel<std::uint8_t>},
    {"compact_rows_i16", compact_rows_kernel<std::uint16_t>},
    {"compact_rows_i32", compact_rows_kernel<std::uint32_t>},
    {"compact_rows_i64", compact_rows_kernel<std::uint64_t>},
    {"compact_rows_u8", compact_rows_kernel<std::uint8_t>},
    {"compact_rows_u16", compact_rows_kernel<std::uint16_t>},
    {"compact_rows_u32", compact_rows_kernel<std::uint32_t>},
    {"compact_rows_u64", compact_rows_kernel<std::uint64_t>},
    {"compact_rows_bool", compact_rows_kernel<std::uint8_t>},
};

}  // namespace

std::span<const NamedKernel> compact_kernels() noexcept { return kernels; }

}  // namespace anyshape
