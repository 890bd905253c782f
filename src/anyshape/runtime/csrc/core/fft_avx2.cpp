#define ANYSHAPE_FFT_ISA fft_avx2

#include "core/fft_real.h"

namespace anyshape {

template <>
const FftFunctions<float> FftIsa<float>::avx2 = fft_avx2::functions<float, 32 / sizeof(float)>;
template <>
const FftFunctions<double> FftIsa<double>::avx2 = fft_avx2::functions<double, 32 / sizeof(double)>;

}  // namespace anyshape
