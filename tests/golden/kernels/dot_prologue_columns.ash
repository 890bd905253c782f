# RUN: fuse, kernels avx512
graph masked(x: f32[m, k], w: f32[k, n], keep: bool[k, n]) -> f32[m, n] {
  %0 = constant() {value=f32 0.0}
  %1 = select(keep, w, %0)
  %2 = dot(x, %1) {contract=([1], [0])}
  return %2
}
--------------------------------------------------------------------------------
# select+dot
kernel (n0, n1, n2, runs; x0: bool[n0, n1], x1: f32[n0, n1], x2: f32[n0*n2], y0: f32[n2, n1] written) tasks t < runs*((n1 + 63)//64) {
  axis runs: 0..
  scratch sums: f32[6, 64]
  scratch panel: f32[n0, 64]
  p = index (t//runs) < max((n1 + 63)//64, 1)
  c = index (t % runs) < max(runs, 1)
  f = index ((c*((n2 + 95)//96))//max(runs, 1)) < (n2 + 95)//96 + 1
  e = index ((c*((n2 + 95)//96) + (n2 + 95)//96)//max(runs, 1)) < (n2 + 95)//96 + 1
  w = index (min(n1 - 64*p, 64)) < min(n1 - 64*p, 64) + 1
  prepare for p {
    for k < n0 {
      for j < w vector {
        v0 = x0[k, j + 64*p]
        v1 = x1[k, j + 64*p]
        v2 = f32 select(v0, v1, f32 0.0)
        panel[k, j] = v2
      }
    }
  }
  for b < e - f {
    h = index (min(n2 - 96*b - 96*f, 96)) < min(n2 - 96*b - 96*f, 96) + 1
    for r < (h + 5)//6 {
      sums[:min(h - 6*r, 6), :w] = x2[96*b + 96*f + 6*r + row of n2 by n0, column of n0 by 1] @ panel[row of n0 by 64, column of 64 by 1] padded over n0
      for i < min(h - 6*r, 6) {
        for j < w vector {
          v0 = sums[i, j]
          y0[96*b + 96*f + i + 6*r, j + 64*p] = v0
        }
      }
    }
  }
}
