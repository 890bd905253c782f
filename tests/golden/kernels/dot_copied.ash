# RUN: fuse, kernels avx512
# RUN: fuse, kernels avx2
# RUN: fuse, kernels sse2
graph product(x: f32[m, k], w: f32[n, k]) -> f32[m, n] {
  %0 = dot(x, w) {contract=([1], [1])}
  return %0
}
--------------------------------------------------------------------------------
# dot: panels
kernel (n0, n1, n2; x0: f32[n0*n1], x1: f32[n1*n2], y0: f32[n0, n2] written) tasks t < ((n0 + 383)//384)*((n2 + 63)//64) {
  scratch sums: f32[6, 64]
  scratch panel: f32[n1, 64]
  p = index (t//((n0 + 383)//384)) < max((n2 + 63)//64, 1)
  b = index (t % ((n0 + 383)//384)) < max((n0 + 383)//384, 1)
  h = index (min(n0 - 384*b, 384)) < min(n0 - 384*b, 384) + 1
  w = index (min(n2 - 64*p, 64)) < min(n2 - 64*p, 64) + 1
  panel[:n1, :w] = x1[column + 64*p of n2 by n1, row of n1 by 1]
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = x0[384*b + 6*r + row of n0 by n1, column of n1 by 1] @ panel[row of n1 by 64, column of 64 by 1] padded over n1
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        y0[384*b + i + 6*r, j + 64*p] = v0
      }
    }
  }
}

# dot: sums
kernel (n0, n1, n2; x0: f32[n0*n1], x1: f32[n1*n2], y0: f32[n0, n2] written) tasks t < ((n0 + 95)//96)*((n2 + 63)//64) {
  scratch sums: f32[6, 64]
  p = index (t//((n0 + 95)//96)) < max((n2 + 63)//64, 1)
  b = index (t % ((n0 + 95)//96)) < max((n0 + 95)//96, 1)
  h = index (min(n0 - 96*b, 96)) < min(n0 - 96*b, 96) + 1
  w = index (min(n2 - 64*p, 64)) < min(n2 - 64*p, 64) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = x0[96*b + 6*r + row of n0 by n1, column of n1 by 1] @ x1[column + 64*p of n2 by n1, row of n1 by 1] over n1
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        y0[96*b + i + 6*r, j + 64*p] = v0
      }
    }
  }
}
--------------------------------------------------------------------------------
# dot: panels
kernel (n0, n1, n2; x0: f32[n0*n1], x1: f32[n1*n2], y0: f32[n0, n2] written) tasks t < ((n0 + 383)//384)*((n2 + 15)//16) {
  scratch sums: f32[6, 16]
  scratch panel: f32[n1, 16]
  p = index (t//((n0 + 383)//384)) < max((n2 + 15)//16, 1)
  b = index (t % ((n0 + 383)//384)) < max((n0 + 383)//384, 1)
  h = index (min(n0 - 384*b, 384)) < min(n0 - 384*b, 384) + 1
  w = index (min(n2 - 16*p, 16)) < min(n2 - 16*p, 16) + 1
  panel[:n1, :w] = x1[column + 16*p of n2 by n1, row of n1 by 1]
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = x0[384*b + 6*r + row of n0 by n1, column of n1 by 1] @ panel[row of n1 by 16, column of 16 by 1] padded over n1
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        y0[384*b + i + 6*r, j + 16*p] = v0
      }
    }
  }
}

# dot: sums
kernel (n0, n1, n2; x0: f32[n0*n1], x1: f32[n1*n2], y0: f32[n0, n2] written) tasks t < ((n0 + 95)//96)*((n2 + 15)//16) {
  scratch sums: f32[6, 16]
  p = index (t//((n0 + 95)//96)) < max((n2 + 15)//16, 1)
  b = index (t % ((n0 + 95)//96)) < max((n0 + 95)//96, 1)
  h = index (min(n0 - 96*b, 96)) < min(n0 - 96*b, 96) + 1
  w = index (min(n2 - 16*p, 16)) < min(n2 - 16*p, 16) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = x0[96*b + 6*r + row of n0 by n1, column of n1 by 1] @ x1[column + 16*p of n2 by n1, row of n1 by 1] over n1
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        y0[96*b + i + 6*r, j + 16*p] = v0
      }
    }
  }
}
--------------------------------------------------------------------------------
# dot: panels
kernel (n0, n1, n2; x0: f32[n0*n1], x1: f32[n1*n2], y0: f32[n0, n2] written) tasks t < ((n0 + 383)//384)*((n2 + 7)//8) {
  scratch sums: f32[6, 8]
  scratch panel: f32[n1, 8]
  p = index (t//((n0 + 383)//384)) < max((n2 + 7)//8, 1)
  b = index (t % ((n0 + 383)//384)) < max((n0 + 383)//384, 1)
  h = index (min(n0 - 384*b, 384)) < min(n0 - 384*b, 384) + 1
  w = index (min(n2 - 8*p, 8)) < min(n2 - 8*p, 8) + 1
  panel[:n1, :w] = x1[column + 8*p of n2 by n1, row of n1 by 1]
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = x0[384*b + 6*r + row of n0 by n1, column of n1 by 1] @ panel[row of n1 by 8, column of 8 by 1] padded over n1
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        y0[384*b + i + 6*r, j + 8*p] = v0
      }
    }
  }
}

# dot: sums
kernel (n0, n1, n2; x0: f32[n0*n1], x1: f32[n1*n2], y0: f32[n0, n2] written) tasks t < ((n0 + 95)//96)*((n2 + 7)//8) {
  scratch sums: f32[6, 8]
  p = index (t//((n0 + 95)//96)) < max((n2 + 7)//8, 1)
  b = index (t % ((n0 + 95)//96)) < max((n0 + 95)//96, 1)
  h = index (min(n0 - 96*b, 96)) < min(n0 - 96*b, 96) + 1
  w = index (min(n2 - 8*p, 8)) < min(n2 - 8*p, 8) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = x0[96*b + 6*r + row of n0 by n1, column of n1 by 1] @ x1[column + 8*p of n2 by n1, row of n1 by 1] over n1
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        y0[96*b + i + 6*r, j + 8*p] = v0
      }
    }
  }
}
