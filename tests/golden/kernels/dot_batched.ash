# RUN: fuse, kernels avx512
graph product(x: f32[b, m, k], w: f32[b, k, n]) -> f32[b, m, n] {
  %0 = dot(x, w) {contract=([2], [1]), batch=([0], [0])}
  return %0
}
--------------------------------------------------------------------------------
# dot
kernel (n0, n1, n2, n3; x0: f32[n0*n1*n2], x1: f32[n0*n2*n3], y0: f32[n0, n1, n3] written) tasks t < n0*((n1 + 95)//96)*((n3 + 63)//64) {
  scratch sums: f32[6, 64]
  q0 = index ((t//((n1 + 95)//96))//((n3 + 63)//64)) < max(n0, 1)
  p = index ((t//((n1 + 95)//96)) % ((n3 + 63)//64)) < max((n3 + 63)//64, 1)
  b = index (t % ((n1 + 95)//96)) < max((n1 + 95)//96, 1)
  h = index (min(n1 - 96*b, 96)) < min(n1 - 96*b, 96) + 1
  w = index (min(n3 - 64*p, 64)) < min(n3 - 64*p, 64) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = x0[q0 of n0 by n1*n2, 96*b + 6*r + row of n1 by n2, column of n2 by 1] @ x1[q0 of n0 by n2*n3, column + 64*p of n3 by 1, row of n2 by n3] over n2
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        y0[q0, 96*b + i + 6*r, j + 64*p] = v0
      }
    }
  }
}
