# RUN: fuse, kernels avx512
graph lines(x: f32[n, t, 8], w: f32[2, 3, 4, c]) -> f32[n, (t - 3)//2 + 1, 2*c] {
  %0 = conv(x, w) {strides=[2], dilations=[1], low=[0], high=[0]}
  return %0
}
--------------------------------------------------------------------------------
# conv
kernel (n0, n1, n2, br, bp; x0: f32[n0, 1, 1, 8*n1], x1: f32[24*n2], y0: f32[n0, (n1 + 1)//2 - 1, 2*n2] written) tasks t < 2*n0*((n2 + 31)//32)*(((n1 + 1)//2 - 2)//bp) + 2*n0*((n2 + 31)//32) {
  axis br: 1..
  axis bp: 1..
  fact 2 < n1
  scratch sums: f32[14, 32]
  q = index (((t//((n2 + 31)//32))//2)//(((n1 + 1)//2 - 2)//bp + 1)) < max(n0, 1)
  d = index (0) < 1
  b = index (0) < 1
  e = index (((t//((n2 + 31)//32))//2) % (((n1 + 1)//2 - 2)//bp + 1)) < max(((n1 + 1)//2 - 2)//bp + 1, 1)
  g = index ((t//((n2 + 31)//32)) % 2) < 2
  p = index (t % ((n2 + 31)//32)) < max((n2 + 31)//32, 1)
  fr = index (b*br) < 1
  h = index (min(br, 1 - fr)) < min(br, 1 - fr) + 1
  fp = index (bp*e) < (n1 + 1)//2 - 1
  l = index (min(bp, (n1 + 1)//2 - fp - 1)) < min(bp, (n1 + 1)//2 - fp - 1) + 1
  w = index (min(n2 - 32*p, 32)) < min(n2 - 32*p, 32) + 1
  for y < h {
    for r < (l + 13)//14 {
      f = index ((l*r)//max((l + 13)//14, 1)) < max(l, 1)
      m = index ((l*r + l)//max((l + 13)//14, 1) - f) < min(l - f, 14) + 1
      for i < m {
        for j < 32 vector {
          sums[i, j] = f32 0.0
        }
      }
      for kd < 1 {
        for kh < 1 {
          for kw < 3 {
            sums[:m, :w] += x0[q of n0 by 8*n1, d + kd of 1 by 8*n1, fr + kh + y of 1 by 8*n1, 2*f + 2*fp + kw + 2*row of n1 by 8, column + 4*g of 8 by 1] @ x1[g of 2 by 12*n2, 3*kd + 3*kh + kw of 3 by 4*n2, row of 4 by n2, column + 32*p of n2 by 1] over 4
          }
        }
      }
      for i < m {
        for j < w vector {
          v0 = sums[i, j]
          y0[q, f + fp + i, g*n2 + j + 32*p] = v0
        }
      }
    }
  }
}
