# RUN: fuse, kernels avx512
# RUN: fuse, kernels avx2
# RUN: fuse, kernels sse2
graph product(x: f32[m, 8]) -> f32[m, 16] {
  %0 = constant() {value=@w1 f32[8, 16] sha256:22802d385e80d278067487007f235c0e53ac85f091deacb074f719fa26dfe8b0}
  %1 = dot(x, %0) {contract=([1], [0])}
  return %1
}
--------------------------------------------------------------------------------
# dot
kernel (n0; x0: f32[8*n0], x1: f32[512], y0: f32[n0, 16] written) tasks t < (n0 + 23)//24 {
  scratch sums: f32[6, 64]
  b = index (t) < max((n0 + 23)//24, 1)
  p = index (0) < 1
  h = index (min(n0 - 24*b, 24)) < min(n0 - 24*b, 24) + 1
  w = index (min(16 - 64*p, 64)) < min(16 - 64*p, 64) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = x0[24*b + 6*r + row of n0 by 8, column of 8 by 1] @ x1[0 of 1 by 512, p of 1 by 512, row of 8 by 64, column of 64 by 1] padded over 8
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        y0[24*b + i + 6*r, j + 64*p] = v0
      }
    }
  }
}
--------------------------------------------------------------------------------
# dot
kernel (n0; x0: f32[8*n0], x1: f32[128], y0: f32[n0, 16] written) tasks t < (n0 + 23)//24 {
  scratch sums: f32[6, 16]
  b = index (t) < max((n0 + 23)//24, 1)
  p = index (0) < 1
  h = index (min(n0 - 24*b, 24)) < min(n0 - 24*b, 24) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :16] = x0[24*b + 6*r + row of n0 by 8, column of 8 by 1] @ x1[0 of 1 by 128, p of 1 by 128, row of 8 by 16, column of 16 by 1] padded over 8
    for i < min(h - 6*r, 6) {
      for j < 16 vector {
        v0 = sums[i, j]
        y0[24*b + i + 6*r, j + 16*p] = v0
      }
    }
  }
}
--------------------------------------------------------------------------------
# dot
kernel (n0; x0: f32[8*n0], x1: f32[128], y0: f32[n0, 16] written) tasks t < 2*((n0 + 23)//24) {
  scratch sums: f32[6, 8]
  b = index (t//2) < max((n0 + 23)//24, 1)
  p = index (t % 2) < 2
  h = index (min(n0 - 24*b, 24)) < min(n0 - 24*b, 24) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :8] = x0[24*b + 6*r + row of n0 by 8, column of 8 by 1] @ x1[0 of 1 by 128, p of 2 by 64, row of 8 by 8, column of 8 by 1] padded over 8
    for i < min(h - 6*r, 6) {
      for j < 8 vector {
        v0 = sums[i, j]
        y0[24*b + i + 6*r, j + 8*p] = v0
      }
    }
  }
}
