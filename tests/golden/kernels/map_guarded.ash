# RUN: fuse, kernels avx512
graph padded(x: f32[n]) -> f32[n + 3] {
  %0 = constant() {value=f32 0.5}
  %1 = pad(x, %0) {low=[1], high=[2]}
  %2 = exp(%1)
  return %2
}
--------------------------------------------------------------------------------
# pad+exp
kernel (n0; x0: f32[n0], y0: f32[n0 + 3] written) tasks t < (n0 + 2)//4096 + 1 {
  streams if (n0 + 3)//6291456
  for j < min(n0 - 4096*t + 3, 4096) vector {
    v0 = if 0 <= j + 4096*t - 1 and j + 4096*t - 1 <= n0 - 1 then x0[j + 4096*t - 1] else f32 0.5
    v1 = f32 exp(v0)
    y0[j + 4096*t] = v1
  }
}
