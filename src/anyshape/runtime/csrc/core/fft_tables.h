// Numbers that Fourier transforms of one length need: how the length is divided, and roots of unity.
//
// Ownership: tables are values; `FftTables` hands out shared ones, which live for as long as someone
// uses them. Thread-safety: tables are immutable. `FftTables` may be used by any thread; it keeps
// what was used last, up to a number of bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace anyshape {

// One pass over data[radix, groups, stride], which gives [groups, radix, stride].
struct FftPass {
    std::int64_t radix, groups, stride;
    std::int64_t twiddles;  // where its roots are: for each group, radix - 1 complex numbers
    std::int64_t circle;    // where the `radix` roots of 1 are
};

inline constexpr std::int64_t fft_greatest_prime = 31;

// What code for one instruction set sees of tables: it shares no inline functions with other code.
template <typename T>
struct FftSteps {
    std::int64_t length;
    const FftPass* passes;
    std::int64_t count;
    const T* roots;
};

// A transform of a length without prime factors above `fft_greatest_prime`.
template <typename T>
struct FftPasses {
    std::int64_t length = 1;
    std::vector<FftPass> passes;
    std::vector<T> roots;

    FftSteps<T> steps() const;
    std::int64_t bytes() const;
};

// How one line is transformed: by passes, as a matrix, or as a convolution.
template <typename T>
struct FftLineSteps {
    std::int64_t length;
    FftSteps<T> passes;  // of the whole line; of a column, if it is a matrix

    // As a matrix [rows, columns]: columns are transformed, turned, and then rows are.
    std::int64_t rows, columns;  // 0 if it is none
    FftSteps<T> row_passes;
    const T* turns;  // for each tile of columns and each row: `lanes` real parts, then the others

    // As a convolution with a chirp, for lengths with large prime factors.
    const FftLineSteps* convolution;  // null if it is none
    const T* chirp;                   // [length]
    const T* spectrum;                // [convolution->length], of the chirp, over that length
};

template <typename T>
struct FftLine {
    std::int64_t length = 1, rows = 0, columns = 0;
    FftPasses<T> passes, row_passes;
    std::vector<T> turns, chirp, spectrum;
    std::shared_ptr<const FftLine> convolution;
    FftLineSteps<T> steps;  // all of the above

    std::int64_t bytes() const;
};

// exp(-2 pi i k / length) for k up to a quarter of it: what real transforms of even lengths turn by.
template <typename T>
struct FftTurns {
    std::vector<T> numbers;

    std::int64_t bytes() const { return static_cast<std::int64_t>(numbers.size() * sizeof(T)); }
};

// Which of the `lanes` columns of a tile a lane holds: complex numbers are taken apart in blocks of
// 16 bytes, which instructions do at once.
[[gnu::always_inline]] constexpr std::int64_t fft_column_of_lane(std::int64_t lane, std::int64_t lanes,
                                          std::int64_t block) {
    const std::int64_t within = lane % block, half = block / 2;
    return lane / block * half + (within < half ? within : lanes / 2 + within - half);
}

template <typename T>
std::shared_ptr<const FftPasses<T>> fft_passes(std::int64_t length);

// `lanes` is how many numbers a vector has.
template <typename T>
std::shared_ptr<const FftLine<T>> fft_line(std::int64_t length, std::int64_t lanes);

template <typename T>
std::shared_ptr<const FftTurns<T>> fft_turns(std::int64_t length);

// Whether a length has no prime factor above `fft_greatest_prime`.
bool fft_has_passes(std::int64_t length) noexcept;

}  // namespace anyshape
