# RUN: fuse, kernels avx512
# RUN: fuse, kernels avx2
# RUN: fuse, kernels sse2
graph images(x: f32[n, h, w, 8], b: f32[64]) -> f32[n, h, w, 64] {
  %0 = constant() {value=@w0 f32[1, 3, 3, 8, 64] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1 = conv(x, %0) {strides=[1, 1], dilations=[1, 1], low=[1, 1], high=[1, 1]}
  %2 = add(%1, b)
  return %2
}
--------------------------------------------------------------------------------
# conv+add
kernel (n0, n1, n2, br, bp; x0: f32[n0, 1, n1, 8*n2], x1: f32[4608], x2: f32[64], y0: f32[n0, n1, n2, 64] written) tasks t < 2*n0*((n1 - 1)//br)*((n2 - 1)//bp) + 2*n0*((n1 - 1)//br) + 2*n0*((n2 - 1)//bp) + 2*n0 {
  axis br: 1..
  axis bp: 1..
  fact 2 < n1 + 2
  fact 2 < n2 + 2
  scratch sums: f32[14, 32]
  scratch band: f32[1, br + 2, 8*bp + 16]
  q = index (((t//2)//((n2 - 1)//bp + 1))//((n1 - 1)//br + 1)) < max(n0, 1)
  d = index (0) < 1
  b = index (((t//2)//((n2 - 1)//bp + 1)) % ((n1 - 1)//br + 1)) < max((n1 - 1)//br + 1, 1)
  e = index ((t//2) % ((n2 - 1)//bp + 1)) < max((n2 - 1)//bp + 1, 1)
  g = index (0) < 1
  p = index (t % 2) < 2
  fr = index (b*br) < n1
  h = index (min(br, n1 - fr)) < min(br, n1 - fr) + 1
  fp = index (bp*e) < n2
  l = index (min(bp, n2 - fp)) < min(bp, n2 - fp) + 1
  prepare for q, d, b, e {
    for kd < 1 {
      for s < h + 2 {
        for u < 8*l + 16 vector {
          band[kd, s, u] = if 0 <= d + kd and d + kd < 1 and 0 <= fr + s - 1 and fr + s - 1 < n1 and 0 <= 8*fp + u - 8 and 8*fp + u - 8 < 8*n2 then x0[q, d + kd, fr + s - 1, 8*fp + u - 8] else f32 0.0
        }
      }
    }
  }
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
        for kh < 3 {
          sums[:m, :32] += band[kd of 1 by 8*bp*br + 16*bp + 16*br + 32, kh + y of br + 2 by 8*bp + 16, column + 8*f + 8*row of 8*bp + 16 by 1] @ x1[g of 1 by 4608, p of 2 by 2304, 3*kd + kh of 3 by 768, row of 24 by 32, column of 32 by 1] padded over 24
        }
      }
      for i < m {
        for j < 32 vector {
          v0 = sums[i, j]
          v1 = x2[64*g + j + 32*p]
          v2 = f32 add(v0, v1)
          y0[q, fr + y, f + fp + i, 64*g + j + 32*p] = v2
        }
      }
    }
  }
}
--------------------------------------------------------------------------------
# conv+add
kernel (n0, n1, n2, br, bp; x0: f32[n0, 1, n1, 8*n2], x1: f32[4608], x2: f32[64], y0: f32[n0, n1, n2, 64] written) tasks t < 4*n0*((n1 - 1)//br)*((n2 - 1)//bp) + 4*n0*((n1 - 1)//br) + 4*n0*((n2 - 1)//bp) + 4*n0 {
  axis br: 1..
  axis bp: 1..
  fact 2 < n1 + 2
  fact 2 < n2 + 2
  scratch sums: f32[6, 16]
  scratch band: f32[1, br + 2, 8*bp + 16]
  q = index (((t//4)//((n2 - 1)//bp + 1))//((n1 - 1)//br + 1)) < max(n0, 1)
  d = index (0) < 1
  b = index (((t//4)//((n2 - 1)//bp + 1)) % ((n1 - 1)//br + 1)) < max((n1 - 1)//br + 1, 1)
  e = index ((t//4) % ((n2 - 1)//bp + 1)) < max((n2 - 1)//bp + 1, 1)
  g = index (0) < 1
  p = index (t % 4) < 4
  fr = index (b*br) < n1
  h = index (min(br, n1 - fr)) < min(br, n1 - fr) + 1
  fp = index (bp*e) < n2
  l = index (min(bp, n2 - fp)) < min(bp, n2 - fp) + 1
  prepare for q, d, b, e {
    for kd < 1 {
      for s < h + 2 {
        for u < 8*l + 16 vector {
          band[kd, s, u] = if 0 <= d + kd and d + kd < 1 and 0 <= fr + s - 1 and fr + s - 1 < n1 and 0 <= 8*fp + u - 8 and 8*fp + u - 8 < 8*n2 then x0[q, d + kd, fr + s - 1, 8*fp + u - 8] else f32 0.0
        }
      }
    }
  }
  for y < h {
    for r < (l + 5)//6 {
      f = index ((l*r)//max((l + 5)//6, 1)) < max(l, 1)
      m = index ((l*r + l)//max((l + 5)//6, 1) - f) < min(l - f, 6) + 1
      for i < m {
        for j < 16 vector {
          sums[i, j] = f32 0.0
        }
      }
      for kd < 1 {
        for kh < 3 {
          sums[:m, :16] += band[kd of 1 by 8*bp*br + 16*bp + 16*br + 32, kh + y of br + 2 by 8*bp + 16, column + 8*f + 8*row of 8*bp + 16 by 1] @ x1[g of 1 by 4608, p of 4 by 1152, 3*kd + kh of 3 by 384, row of 24 by 16, column of 16 by 1] padded over 24
        }
      }
      for i < m {
        for j < 16 vector {
          v0 = sums[i, j]
          v1 = x2[64*g + j + 16*p]
          v2 = f32 add(v0, v1)
          y0[q, fr + y, f + fp + i, 64*g + j + 16*p] = v2
        }
      }
    }
  }
}
--------------------------------------------------------------------------------
# conv+add
kernel (n0, n1, n2, br, bp; x0: f32[n0, 1, n1, 8*n2], x1: f32[4608], x2: f32[64], y0: f32[n0, n1, n2, 64] written) tasks t < 8*n0*((n1 - 1)//br)*((n2 - 1)//bp) + 8*n0*((n1 - 1)//br) + 8*n0*((n2 - 1)//bp) + 8*n0 {
  axis br: 1..
  axis bp: 1..
  fact 2 < n1 + 2
  fact 2 < n2 + 2
  scratch sums: f32[6, 8]
  scratch band: f32[1, br + 2, 8*bp + 16]
  q = index (((t//8)//((n2 - 1)//bp + 1))//((n1 - 1)//br + 1)) < max(n0, 1)
  d = index (0) < 1
  b = index (((t//8)//((n2 - 1)//bp + 1)) % ((n1 - 1)//br + 1)) < max((n1 - 1)//br + 1, 1)
  e = index ((t//8) % ((n2 - 1)//bp + 1)) < max((n2 - 1)//bp + 1, 1)
  g = index (0) < 1
  p = index (t % 8) < 8
  fr = index (b*br) < n1
  h = index (min(br, n1 - fr)) < min(br, n1 - fr) + 1
  fp = index (bp*e) < n2
  l = index (min(bp, n2 - fp)) < min(bp, n2 - fp) + 1
  prepare for q, d, b, e {
    for kd < 1 {
      for s < h + 2 {
        for u < 8*l + 16 vector {
          band[kd, s, u] = if 0 <= d + kd and d + kd < 1 and 0 <= fr + s - 1 and fr + s - 1 < n1 and 0 <= 8*fp + u - 8 and 8*fp + u - 8 < 8*n2 then x0[q, d + kd, fr + s - 1, 8*fp + u - 8] else f32 0.0
        }
      }
    }
  }
  for y < h {
    for r < (l + 5)//6 {
      f = index ((l*r)//max((l + 5)//6, 1)) < max(l, 1)
      m = index ((l*r + l)//max((l + 5)//6, 1) - f) < min(l - f, 6) + 1
      for i < m {
        for j < 8 vector {
          sums[i, j] = f32 0.0
        }
      }
      for kd < 1 {
        for kh < 3 {
          sums[:m, :8] += band[kd of 1 by 8*bp*br + 16*bp + 16*br + 32, kh + y of br + 2 by 8*bp + 16, column + 8*f + 8*row of 8*bp + 16 by 1] @ x1[g of 1 by 4608, p of 8 by 576, 3*kd + kh of 3 by 192, row of 24 by 8, column of 8 by 1] padded over 24
        }
      }
      for i < m {
        for j < 8 vector {
          v0 = sums[i, j]
          v1 = x2[64*g + j + 8*p]
          v2 = f32 add(v0, v1)
          y0[q, fr + y, f + fp + i, 64*g + j + 8*p] = v2
        }
      }
    }
  }
}
