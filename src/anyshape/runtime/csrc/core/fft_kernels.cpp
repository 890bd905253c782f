#include "core/fft_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/machine.h"

namespace anyshape {
namespace {

template <typename T>
const FftFunctions<T>& functions_for(std::int64_t vector) {
#if defined(__x86_64__)
    static const VectorIsa isa = vector_isa();
    if (isa == VectorIsa::avx512 && vector >= 64) return FftIsa<T>::avx512;
    if (isa <= VectorIsa::avx2 && vector >= 32) return FftIsa<T>::avx2;
#else
    (void)vector;
#endif
    return FftIsa<T>::base;
}

template <typename T>
T scale_of(std::int64_t scaling, std::int64_t length) {
    const auto count = static_cast<double>(length);
    return static_cast<T>(scaling == 0 ? 1.0 : 1.0 / (scaling == 1 ? count : std::sqrt(count)));
}

template <typename T>
T* workspace_of(std::int64_t address, std::int64_t worker, std::int64_t length) {
    constexpr std::int64_t line = 64;
    const auto bytes = fft_workspace_numbers(length) * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t part = (bytes + line - 1) / line * line;
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(address) + worker * part);
}

// The sizes of a block that all transforms have.
struct Sizes {
    std::int64_t lines, length, inner, inverse, scaling, per_task, vector;
};

enum class Kind : std::uint8_t { complex_numbers, real, real_inverse };

// Tables are held until the job is done.
template <typename T, Kind kind>
void transform(const std::int64_t* block, const Sizes& sizes, std::int64_t first, std::int64_t last,
               std::int64_t worker) {
    const FftFunctions<T>& functions = functions_for<T>(sizes.vector);
    const std::int64_t lanes = functions.lanes, length = sizes.length;
    const std::int64_t end = std::min(sizes.lines, last * sizes.per_task);
    const std::int64_t begin = first * sizes.per_task;
    if (begin >= end || length == 0) return;
    const bool is_real = kind != Kind::complex_numbers, is_half = is_real && length % 2 == 0;
    const auto line = fft_line<T>(is_half ? length / 2 : length, lanes);
    const std::int64_t wanted = (is_real ? 2 : 1) * lanes / 2;
    const bool few = end - begin < wanted && length >= lanes * lanes;
    const bool side_by_side = !line->convolution && length <= fft_longest_lane && !few;
    const auto passes = side_by_side ? fft_passes<T>(length) : nullptr;
    const auto turns = is_half && !side_by_side ? fft_turns<T>(length) : nullptr;
    const FftJob<T> job{
        reinterpret_cast<const T*>(block[0]),
        reinterpret_cast<T*>(block[1]),
        workspace_of<T>(block[2], worker, length),
        begin,
        end,
        length,
        sizes.inner,
        sizes.inverse != 0,
        scale_of<T>(sizes.scaling, length),
        line->steps,
        passes ? passes->steps() : FftSteps<T>{},
        side_by_side,
        turns ? turns->numbers.data() : nullptr,
    };
    if constexpr (kind == Kind::complex_numbers) functions.complex_lines(job);
    if constexpr (kind == Kind::real) functions.real_lines(job);
    if constexpr (kind == Kind::real_inverse) functions.real_inverse_lines(job);
}

template <typename T>
void fft_kernel(const std::int64_t* block, std::int64_t first, std::int64_t last,
                std::int64_t worker) {
    const Sizes sizes{block[3] * block[5], block[4], block[5], block[6],
                      block[7],            block[8], block[9]};
    transform<T, Kind::complex_numbers>(block, sizes, first, last, worker);
}

template <typename T, Kind kind>
void real_kernel(const std::int64_t* block, std::int64_t first, std::int64_t last,
                 std::int64_t worker) {
    const Sizes sizes{block[3], block[4], 1, 0, block[5], block[6], block[7]};
    transform<T, kind>(block, sizes, first, last, worker);
}

constexpr NamedKernel kernels[] = {
    {"fft_f32", fft_kernel<float>},
    {"fft_f64", fft_kernel<double>},
    {"rfft_f32", real_kernel<float, Kind::real>},
    {"rfft_f64", real_kernel<double, Kind::real>},
    {"irfft_f32", real_kernel<float, Kind::real_inverse>},
    {"irfft_f64", real_kernel<double, Kind::real_inverse>},
};

}  // namespace

// Lanes side by side: two copies of a tile, and the halves of real lines. A line by itself: a copy,
// and as a convolution of up to three times the length that again, what its matrix leaves between
// columns and rows, and tiles. The longer side of a matrix is at most sqrt(31 n) <= 496 + n / 64.
std::int64_t fft_workspace_numbers(std::int64_t length) noexcept {
    return 20 * length + 96 * std::min(length, fft_longest_lane) + 65536;
}

std::span<const NamedKernel> fft_kernels() noexcept { return kernels; }

}  // namespace anyshape
