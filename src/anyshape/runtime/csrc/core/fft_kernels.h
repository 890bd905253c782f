// Fourier transforms, as kernels of the usual signature.
//
//     fft:    block: x, y, workspace, outer, length, inner, inverse, scaling, lines, vector
//     rfft:   block: x, y, workspace, outer, length, scaling, lines, vector
//     irfft:  the same
//
// `fft` transforms the middle axis of x[outer, length, inner, 2], whose last axis has real and
// imaginary parts. `rfft` gives y[outer, length / 2 + 1, 2] of real x[outer, length], and `irfft` is
// the way back. A task is `lines` lines. Scaling is 0 for sums as they are, 1 for those divided by
// the length, and 2 by its root. `vector` is how many bytes of a vector may be used. A worker's part
// of the workspace has `fft_workspace_numbers` numbers.
//
// Ownership: tables of roots are shared between calls (fft_tables.h). Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <span>

#include "core/fft_tables.h"
#include "core/named_kernel.h"

namespace anyshape {

// Lines beyond this length are transformed one by one: lanes side by side would leave the cache.
inline constexpr std::int64_t fft_longest_lane = 4096;

std::int64_t fft_workspace_numbers(std::int64_t length) noexcept;

// What a range of tasks is given.
template <typename T>
struct FftJob {
    const T* x;
    T* y;
    T* work;
    std::int64_t first, last;  // lines
    std::int64_t length, inner;
    bool inverse;
    T scale;
    FftLineSteps<T> line;  // of one line; of real ones of even length, by half as many numbers
    FftSteps<T> lanes;     // of lines side by side, where `side_by_side`
    bool side_by_side;
    const T* turns;  // of real lines of even length
};

template <typename T>
struct FftFunctions {
    std::int64_t lanes;
    void (*complex_lines)(const FftJob<T>&);
    void (*real_lines)(const FftJob<T>&);
    void (*real_inverse_lines)(const FftJob<T>&);
};

template <typename T>
struct FftIsa {
    static const FftFunctions<T> base, avx2, avx512;
};

std::span<const NamedKernel> fft_kernels() noexcept;

}  // namespace anyshape
