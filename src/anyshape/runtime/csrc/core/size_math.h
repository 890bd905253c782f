// Arithmetic on byte sizes that says so when it cannot be done.
//
// Ownership and thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

namespace anyshape {

// No machine has more, and sums of a few such sizes still fit in 64 bits.
inline constexpr std::int64_t max_bytes = std::int64_t{1} << 62;

// Every buffer starts on a cache line, which is also the widest vector register.
inline constexpr std::int64_t alignment = 64;

inline std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum) || sum > max_bytes) return std::nullopt;
    return sum;
}

inline std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product) || product > max_bytes) return std::nullopt;
    return product;
}

// For 0 <= bytes <= max_bytes.
inline std::int64_t align_up(std::int64_t bytes) noexcept {
    return (bytes + alignment - 1) & -alignment;
}

}  // namespace anyshape
