# RUN: fuse, kernels avx512
# RUN: fuse, kernels sse2
graph lines(x: f32[n, t, 6], w: f32[1, 4, 6, c]) -> f32[n, t - 3, c] {
  %0 = conv(x, w) {strides=[1], dilations=[1], low=[0], high=[0]}
  %1 = relu(%0)
  return %1
}
--------------------------------------------------------------------------------
# conv+relu
kernel (n0, n1, n2, br, bp; x0: f32[n0, 1, 1, 6*n1], x1: f32[24*n2], y0: f32[n0, n1 - 3, n2] written) tasks t < n0*((n1 - 4)//bp)*((n2 + 31)//32) + n0*((n2 + 31)//32) {
  axis br: 1..
  axis bp: 1..
  fact 3 < n1
  scratch sums: f32[14, 32]
  q = index ((t//((n2 + 31)//32))//((n1 - 4)//bp + 1)) < max(n0, 1)
  d = index (0) < 1
  b = index (0) < 1
  e = index ((t//((n2 + 31)//32)) % ((n1 - 4)//bp + 1)) < max((n1 - 4)//bp + 1, 1)
  g = index (0) < 1
  p = index (t % ((n2 + 31)//32)) < max((n2 + 31)//32, 1)
  fr = index (b*br) < 1
  h = index (min(br, 1 - fr)) < min(br, 1 - fr) + 1
  fp = index (bp*e) < n1 - 3
  l = index (min(bp, n1 - fp - 3)) < min(bp, n1 - fp - 3) + 1
  w = index (min(n2 - 32*p, 32)) < min(n2 - 32*p, 32) + 1
  for y < h {
    for r < (l + 13)//14 {
      f = index ((l*r)//max((l + 13)//14, 1)) < max(l, 1)
      m = index ((l*r + l)//max((l + 13)//14, 1) - f) < min(l - f, 14) + 1
      sums[:m, :w] = x0[q of n0 by 6*n1, d of 1 by 6*n1, fr + y of 1 by 6*n1, column + 6*f + 6*fp + 6*row of 6*n1 by 1] @ x1[g of 1 by 24*n2, 0 of 1 by 24*n2, row of 24 by n2, column + 32*p of n2 by 1] over 24
      for i < m {
        for j < w vector {
          v0 = sums[i, j]
          v1 = f32 maximum(v0, f32 0.0)
          y0[q, f + fp + i, g*n2 + j + 32*p] = v1
        }
      }
    }
  }
}
--------------------------------------------------------------------------------
# conv+relu
kernel (n0, n1, n2, br, bp; x0: f32[n0, 1, 1, 6*n1], x1: f32[24*n2], y0: f32[n0, n1 - 3, n2] written) tasks t < n0*((n1 - 4)//bp)*((n2 + 7)//8) + n0*((n2 + 7)//8) {
  axis br: 1..
  axis bp: 1..
  fact 3 < n1
  scratch sums: f32[6, 8]
  q = index ((t//((n2 + 7)//8))//((n1 - 4)//bp + 1)) < max(n0, 1)
  d = index (0) < 1
  b = index (0) < 1
  e = index ((t//((n2 + 7)//8)) % ((n1 - 4)//bp + 1)) < max((n1 - 4)//bp + 1, 1)
  g = index (0) < 1
  p = index (t % ((n2 + 7)//8)) < max((n2 + 7)//8, 1)
  fr = index (b*br) < 1
  h = index (min(br, 1 - fr)) < min(br, 1 - fr) + 1
  fp = index (bp*e) < n1 - 3
  l = index (min(bp, n1 - fp - 3)) < min(bp, n1 - fp - 3) + 1
  w = index (min(n2 - 8*p, 8)) < min(n2 - 8*p, 8) + 1
  for y < h {
    for r < (l + 5)//6 {
      f = index ((l*r)//max((l + 5)//6, 1)) < max(l, 1)
      m = index ((l*r + l)//max((l + 5)//6, 1) - f) < min(l - f, 6) + 1
      sums[:m, :w] = x0[q of n0 by 6*n1, d of 1 by 6*n1, fr + y of 1 by 6*n1, column + 6*f + 6*fp + 6*row of 6*n1 by 1] @ x1[g of 1 by 24*n2, 0 of 1 by 24*n2, row of 24 by n2, column + 8*p of n2 by 1] over 24
      for i < m {
        for j < w vector {
          v0 = sums[i, j]
          v1 = f32 maximum(v0, f32 0.0)
          y0[q, f + fp + i, g*n2 + j + 8*p] = v1
        }
      }
    }
  }
}
