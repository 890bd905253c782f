# RUN: fuse, kernels avx512
graph product(x: bf16[m, k], w: bf16[n, k]) -> bf16[m, n] {
  %0 = dot(x, w) {contract=([1], [1])}
  return %0
}
--------------------------------------------------------------------------------
# dot: panels
kernel (n0, n1, n2; x0: bf16[n0*n1], x1: bf16[n1*n2], y0: bf16[n0, n2] written) tasks t < ((n0 + 383)//384)*((n2 + 63)//64) {
  scratch sums: f32[6, 64]
  scratch panel: f32[n1, 64]
  scratch block: f32[min(n0, 384), n1]
  p = index (t//((n0 + 383)//384)) < max((n2 + 63)//64, 1)
  b = index (t % ((n0 + 383)//384)) < max((n0 + 383)//384, 1)
  h = index (min(n0 - 384*b, 384)) < min(n0 - 384*b, 384) + 1
  w = index (min(n2 - 64*p, 64)) < min(n2 - 64*p, 64) + 1
  block[:h, :n1] = x0[384*b + row of n0 by n1, column of n1 by 1]
  panel[:n1, :w] = x1[column + 64*p of n2 by n1, row of n1 by 1]
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = block[6*r + row of min(n0, 384) by n1, column of n1 by 1] @ panel[row of n1 by 64, column of 64 by 1] padded over n1
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        v1 = bf16 cast(v0)
        y0[384*b + i + 6*r, j + 64*p] = v1
      }
    }
  }
}

# dot: sums
kernel (n0, n1, n2; x0: bf16[n0*n1], x1: bf16[n1*n2], y0: bf16[n0, n2] written) tasks t < ((n0 + 95)//96)*((n2 + 63)//64) {
  scratch sums: f32[6, 64]
  scratch block: f32[min(n0, 96), n1]
  p = index (t//((n0 + 95)//96)) < max((n2 + 63)//64, 1)
  b = index (t % ((n0 + 95)//96)) < max((n0 + 95)//96, 1)
  h = index (min(n0 - 96*b, 96)) < min(n0 - 96*b, 96) + 1
  w = index (min(n2 - 64*p, 64)) < min(n2 - 64*p, 64) + 1
  block[:h, :n1] = x0[96*b + row of n0 by n1, column of n1 by 1]
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = block[6*r + row of min(n0, 96) by n1, column of n1 by 1] @ x1[column + 64*p of n2 by n1, row of n1 by 1] over n1
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        v1 = bf16 cast(v0)
        y0[96*b + i + 6*r, j + 64*p] = v1
      }
    }
  }
}
