# RUN: fuse, kernels avx512
graph sum_of_rows(x: f32[batch, seq]) -> f32[batch] {
  %0 = sum(x) {axes=[1]}
  return %0
}
--------------------------------------------------------------------------------
# sum
kernel (n0, n1; x0: f32[n0*n1], y0: f32[n0] written) tasks t < n0 {
  streams if n0//6291456
  for k0 < n1 vector with v1: f32 add {
    v2 = x0[n1*t + k0]
    v1 <- v2
  }
  y0[t] = v1
}
