#define ANYSHAPE_FFT_ISA fft_base

#include "core/fft_real.h"

namespace anyshape {

template <>
const FftFunctions<float> FftIsa<float>::base = fft_base::functions<float, 16 / sizeof(float)>;
template <>
const FftFunctions<double> FftIsa<double>::base = fft_base::functions<double, 16 / sizeof(double)>;

}  // namespace anyshape
