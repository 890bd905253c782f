#define ANYSHAPE_FFT_ISA fft_avx512

#include "core/fft_real.h"

namespace anyshape {

template <>
const FftFunctions<float> FftIsa<float>::avx512 = fft_avx512::functions<float, 64 / sizeof(float)>;
template <>
const FftFunctions<double> FftIsa<double>::avx512 = fft_avx512::functions<double, 64 / sizeof(double)>;

}  // namespace anyshape
