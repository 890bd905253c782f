# RUN: fuse, kernels avx512
# RUN: fuse, kernels avx2
# RUN: fuse, kernels sse2
graph product(x: f32[m, k], w: f32[k, 96]) -> f32[m, 96] {
  %0 = dot(x, w) {contract=([1], [0])}
  return %0
}
--------------------------------------------------------------------------------
# dot
kernel (n0, n1; x0: f32[n0*n1], x1: f32[96*n1], y0: f32[n0, 96] written) tasks t < 2*((n0 + 95)//96) {
  scratch sums: f32[6, 64]
  p = index (t//((n0 + 95)//96)) < 2
  b = index (t % ((n0 + 95)//96)) < max((n0 + 95)//96, 1)
  h = index (min(n0 - 96*b, 96)) < min(n0 - 96*b, 96) + 1
  w = index (min(96 - 64*p, 64)) < min(96 - 64*p, 64) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = x0[96*b + 6*r + row of n0 by n1, column of n1 by 1] @ x1[column + 64*p of 96 by 1, row of n1 by 96] over n1
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        y0[96*b + i + 6*r, j + 64*p] = v0
      }
    }
  }
}
--------------------------------------------------------------------------------
# dot
kernel (n0, n1; x0: f32[n0*n1], x1: f32[96*n1], y0: f32[n0, 96] written) tasks t < 6*((n0 + 95)//96) {
  scratch sums: f32[6, 16]
  p = index (t//((n0 + 95)//96)) < 6
  b = index (t % ((n0 + 95)//96)) < max((n0 + 95)//96, 1)
  h = index (min(n0 - 96*b, 96)) < min(n0 - 96*b, 96) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :16] = x0[96*b + 6*r + row of n0 by n1, column of n1 by 1] @ x1[column + 16*p of 96 by 1, row of n1 by 96] over n1
    for i < min(h - 6*r, 6) {
      for j < 16 vector {
        v0 = sums[i, j]
        y0[96*b + i + 6*r, j + 16*p] = v0
      }
    }
  }
}
--------------------------------------------------------------------------------
# dot
kernel (n0, n1; x0: f32[n0*n1], x1: f32[96*n1], y0: f32[n0, 96] written) tasks t < 12*((n0 + 95)//96) {
  scratch sums: f32[6, 8]
  p = index (t//((n0 + 95)//96)) < 12
  b = index (t % ((n0 + 95)//96)) < max((n0 + 95)//96, 1)
  h = index (min(n0 - 96*b, 96)) < min(n0 - 96*b, 96) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :8] = x0[96*b + 6*r + row of n0 by n1, column of n1 by 1] @ x1[column + 8*p of 96 by 1, row of n1 by 96] over n1
    for i < min(h - 6*r, 6) {
      for j < 8 vector {
        v0 = sums[i, j]
        y0[96*b + i + 6*r, j + 8*p] = v0
      }
    }
  }
}
