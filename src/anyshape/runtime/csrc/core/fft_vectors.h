// Vectors of numbers and what transforms do with them. Included once for each instruction set, by
// a file that defines ANYSHAPE_FFT_ISA, with no function of another header that is not inlined: an
// inline function that two files have in common would be compiled for either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace anyshape::ANYSHAPE_FFT_ISA {

#define ANYSHAPE_FFT_INLINE [[gnu::always_inline]] inline

template <typename T, int W>
struct Vectors {
    using V [[gnu::vector_size(W * sizeof(T))]] = T;
    using Unaligned [[gnu::vector_size(W * sizeof(T)), gnu::aligned(alignof(T)), gnu::may_alias]] = T;

    static constexpr int lanes = W;
    static constexpr int units = W / 2;          // complex numbers of a vector
    static constexpr int block = 16 / sizeof(T);  // numbers that one instruction mixes freely

    struct C {
        V re, im;
    };

    ANYSHAPE_FFT_INLINE static V load(const T* at) {
        return *reinterpret_cast<const Unaligned*>(at);
    }
    ANYSHAPE_FFT_INLINE static void store(T* at, V value) {
        *reinterpret_cast<Unaligned*>(at) = value;
    }
    ANYSHAPE_FFT_INLINE static V all(T value) { return value - V{}; }

    ANYSHAPE_FFT_INLINE static C times(C x, V re, V im) {
        return {x.re * re - x.im * im, x.re * im + x.im * re};
    }

    // --- complex numbers in memory, and apart ----------------------------------------------------

    template <int Part, std::size_t... I>
    ANYSHAPE_FFT_INLINE static V apart(V a, V b, std::index_sequence<I...>) {
        return __builtin_shufflevector(a, b, index_apart(Part, I)...);
    }
    static constexpr int index_apart(int part, int i) {
        const int base = i / block * block, within = i % block;
        const int from = within < block / 2 ? 0 : W;
        return from + base + 2 * (within % (block / 2)) + part;
    }
    ANYSHAPE_FFT_INLINE static C split(V a, V b) {
        return {apart<0>(a, b, all_lanes), apart<1>(a, b, all_lanes)};
    }

    template <int Half, std::size_t... I>
    ANYSHAPE_FFT_INLINE static V together(V re, V im, std::index_sequence<I...>) {
        return __builtin_shufflevector(re, im, index_together(Half, I)...);
    }
    static constexpr int index_together(int half, int i) {
        const int base = i / block * block, within = i % block;
        return (within % 2 == 0 ? 0 : W) + base + half * (block / 2) + within / 2;
    }
    ANYSHAPE_FFT_INLINE static V first_half(C x) { return together<0>(x.re, x.im, all_lanes); }
    ANYSHAPE_FFT_INLINE static V second_half(C x) { return together<1>(x.re, x.im, all_lanes); }

    // --- rows to columns: `Size` numbers stay together --------------------------------------------

    template <int Size, int Step, int Side, std::size_t... I>
    ANYSHAPE_FFT_INLINE static V exchanged(V a, V b, std::index_sequence<I...>) {
        return __builtin_shufflevector(a, b, index_exchanged(Size * Step, Side, I)...);
    }
    static constexpr int index_exchanged(int step, int side, int i) {
        const bool second = (i & step) != 0;
        if (side == 0) return second ? W + i - step : i;
        return second ? W + i : i + step;
    }

    template <int Size, int Step = 1>
    ANYSHAPE_FFT_INLINE static void transpose(V* rows) {
        constexpr int count = W / Size;
        if constexpr (Step < count) {
            for (int i = 0; i < count; ++i) {
                if ((i & Step) != 0) continue;
                const V a = rows[i], b = rows[i + Step];
                rows[i] = exchanged<Size, Step, 0>(a, b, all_lanes);
                rows[i + Step] = exchanged<Size, Step, 1>(a, b, all_lanes);
            }
            transpose<Size, 2 * Step>(rows);
        }
    }

    static constexpr std::make_index_sequence<W> all_lanes{};
};

}  // namespace anyshape::ANYSHAPE_FFT_ISA
