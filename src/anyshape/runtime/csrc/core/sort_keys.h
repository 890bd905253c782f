// Keys: unsigned integers that are ordered as elements are, in the order that sorting has.
//
// NaN is greater than any number, and all NaNs are equal; so are zeros of either sign.
//
// Ownership and thread-safety: functions without state.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace anyshape {

// Storage of 16-bit floats: their bits, with the number of bits of the exponent.
template <int exponent_bits>
struct Half {
    std::uint16_t bits;
};

// The bits of a float in the order of its values: NaNs last and equal, zeros equal.
template <std::unsigned_integral Bits>
Bits float_key(Bits bits, Bits infinity) {
    constexpr Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
    const auto magnitude = static_cast<Bits>(bits & static_cast<Bits>(~sign));
    if (magnitude > infinity) return static_cast<Bits>(~Bits{0});
    if (magnitude == 0) return sign;
    return static_cast<Bits>(bits & sign ? ~bits : bits | sign);
}

inline std::uint32_t key_of(float x) {
    return float_key(std::bit_cast<std::uint32_t>(x), std::uint32_t{0x7f800000});
}

inline std::uint64_t key_of(double x) {
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

}  // namespace anyshape
