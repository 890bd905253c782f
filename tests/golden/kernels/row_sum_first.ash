# RUN: fuse, kernels avx512
graph sum_of_columns(x: f32[batch, seq]) -> f32[seq] {
  %0 = sum(x) {axes=[0]}
  return %0
}
--------------------------------------------------------------------------------
# sum
kernel (n0, n1; x0: f32[n0*n1], y0: f32[n1] written) tasks t < (n1 + 63)//64 {
  streams if n1//6291456
  for j < min(n1 - 64*t, 64) vector {
    for k0 < n0 vector with v1: f32 add {
      v2 = x0[k0*n1 + j + 64*t]
      v1 <- v2
    }
    y0[j + 64*t] = v1
  }
}
