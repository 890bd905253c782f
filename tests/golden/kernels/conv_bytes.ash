# RUN: fuse, kernels avx512 vnni
# RUN: fuse, kernels avx2
graph images(x: u8[n, h, w, 5], zero: u8[], b: f32[24]) -> f32[n, h, w, 24] {
  %0 = constant() {value=@w0 i8[1, 3, 3, 5, 24] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1 = pad(x, zero) {low=[0, 1, 1, 0], high=[0, 1, 1, 0]}
  %2 = cast(%1) {to=i32}
  %3 = cast(%0) {to=i32}
  %4 = conv(%2, %3) {strides=[1, 1], dilations=[1, 1], low=[0, 0], high=[0, 0]}
  %5 = cast(%4) {to=f32}
  %6 = mul(%5, b)
  return %6
}
--------------------------------------------------------------------------------
# pad+cast+conv+mul
kernel (n0, n1, n2, br, bp; x0: u8[n0, 1, n1, 5*n2], x1: u8[], x2: i8[1536], x3: f32[24], y0: f32[n0, n1, n2, 24] written) tasks t < n0*((n1 - 1)//br)*((n2 - 1)//bp) + n0*((n1 - 1)//br) + n0*((n2 - 1)//bp) + n0 {
  axis br: 1..
  axis bp: 1..
  fact 2 < n1 + 2
  fact 2 < n2 + 2
  scratch sums: i32[14, 32]
  scratch band: u8[1, br + 2, 5*bp + 10]
  q = index ((t//((n2 - 1)//bp + 1))//((n1 - 1)//br + 1)) < max(n0, 1)
  d = index (0) < 1
  b = index ((t//((n2 - 1)//bp + 1)) % ((n1 - 1)//br + 1)) < max((n1 - 1)//br + 1, 1)
  e = index (t % ((n2 - 1)//bp + 1)) < max((n2 - 1)//bp + 1, 1)
  g = index (0) < 1
  p = index (0) < 1
  fr = index (b*br) < n1
  h = index (min(br, n1 - fr)) < min(br, n1 - fr) + 1
  fp = index (bp*e) < n2
  l = index (min(bp, n2 - fp)) < min(bp, n2 - fp) + 1
  w = index (min(24 - 32*p, 32)) < min(24 - 32*p, 32) + 1
  prepare for q, d, b, e {
    v0 = x1[]
    for kd < 1 {
      for s < h + 2 {
        for u < 5*l + 10 vector {
          band[kd, s, u] = if 0 <= d + kd and d + kd < 1 and 0 <= fr + s - 1 and fr + s - 1 < n1 and 0 <= 5*fp + u - 5 and 5*fp + u - 5 < 5*n2 then x0[q, d + kd, fr + s - 1, 5*fp + u - 5] else v0
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
          sums[i, j] = i32 0
        }
      }
      for kd < 1 {
        for kh < 3 {
          sums[:m, :w] += band[kd of 1 by 5*bp*br + 10*bp + 10*br + 20, kh + y of br + 2 by 5*bp + 10, column + 5*f + 5*row of 5*bp + 10 by 1] @ x2[g of 1 by 1536, 3*kd + kh of 3 by 512, p of 1 by 512, row of 4 by 128, column of 128 by 1] padded groups 4 over 15
        }
      }
      for i < m {
        for j < w vector {
          v0 = sums[i, j]
          v1 = f32 cast(v0)
          v2 = x3[24*g + j + 32*p]
          v3 = f32 mul(v1, v2)
          y0[q, fr + y, f + fp + i, 24*g + j + 32*p] = v3
        }
      }
    }
  }
}
--------------------------------------------------------------------------------
# pad+cast+conv+mul
kernel (n0, n1, n2, br, bp; x0: u8[n0, 1, n1, 5*n2], x1: u8[], x2: i8[1536], x3: f32[24], y0: f32[n0, n1, n2, 24] written) tasks t < 2*n0*((n1 - 1)//br)*((n2 - 1)//bp) + 2*n0*((n1 - 1)//br) + 2*n0*((n2 - 1)//bp) + 2*n0 {
  axis br: 1..
  axis bp: 1..
  fact 2 < n1 + 2
  fact 2 < n2 + 2
  scratch sums: i32[6, 16]
  scratch band: i16[1, br + 2, 5*bp + 10]
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
  w = index (min(24 - 16*p, 16)) < min(24 - 16*p, 16) + 1
  prepare for q, d, b, e {
    v0 = x1[]
    for kd < 1 {
      for s < h + 2 {
        for u < 5*l + 10 vector {
          band[kd, s, u] = i16 cast(if 0 <= d + kd and d + kd < 1 and 0 <= fr + s - 1 and fr + s - 1 < n1 and 0 <= 5*fp + u - 5 and 5*fp + u - 5 < 5*n2 then x0[q, d + kd, fr + s - 1, 5*fp + u - 5] else v0)
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
          sums[i, j] = i32 0
        }
      }
      for kd < 1 {
        for kh < 3 {
          sums[:m, :w] += band[kd of 1 by 5*bp*br + 10*bp + 10*br + 20, kh + y of br + 2 by 5*bp + 10, column + 5*f + 5*row of 5*bp + 10 by 1] @ x2[g of 1 by 1536, 3*kd + kh of 3 by 512, p of 2 by 256, row of 8 by 32, column of 32 by 1] padded groups 2 over 15
        }
      }
      for i < m {
        for j < w vector {
          v0 = sums[i, j]
          v1 = f32 cast(v0)
          v2 = x3[24*g + j + 16*p]
          v3 = f32 mul(v1, v2)
          y0[q, fr + y, f + fp + i, 24*g + j + 16*p] = v3
        }
      }
    }
  }
}
