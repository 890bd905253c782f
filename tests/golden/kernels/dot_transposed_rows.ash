# RUN: fuse, kernels avx512
graph product(x: f32[k, m], w: f32[k, n]) -> f32[m, n] {
  %0 = dot(x, w) {contract=([0], [0])}
  return %0
}
--------------------------------------------------------------------------------
# dot
kernel (n0, n1, n2; x0: f32[n0*n1], x1: f32[n0*n2], y0: f32[n1, n2] written) tasks t < ((n1 + 95)//96)*((n2 + 63)//64) {
  scratch sums: f32[6, 64]
  p = index (t//((n1 + 95)//96)) < max((n2 + 63)//64, 1)
  b = index (t % ((n1 + 95)//96)) < max((n1 + 95)//96, 1)
  h = index (min(n1 - 96*b, 96)) < min(n1 - 96*b, 96) + 1
  w = index (min(n2 - 64*p, 64)) < min(n2 - 64*p, 64) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = x0[96*b + 6*r + row of n1 by 1, column of n0 by n1] @ x1[column + 64*p of n2 by 1, row of n0 by n2] over n0
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        y0[96*b + i + 6*r, j + 64*p] = v0
      }
    }
  }
}
