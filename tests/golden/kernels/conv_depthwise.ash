# RUN: fuse, kernels avx512
graph lines(x: f32[n, t, 8]) -> f32[n, t, 8] {
  %0 = constant() {value=@w0 f32[8, 3, 1, 1] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1 = conv(x, %0) {strides=[1], dilations=[1], low=[1], high=[1]}
  return %1
}
--------------------------------------------------------------------------------
# conv
kernel (n0, n1, br, bp; x0: f32[n0, 1, 1, 8*n1], x1: f32[3, 8], y0: f32[n0, n1, 8] written) tasks t < n0*((n1 - 1)//bp) + n0 {
  axis br: 1..
  axis bp: 1..
  fact 2 < n1 + 2
  scratch sums: f32[4, 8]
  scratch band: f32[1, br, 8*bp + 16]
  q = index (t//((n1 - 1)//bp + 1)) < max(n0, 1)
  d = index (0) < 1
  b = index (0) < 1
  e = index (t % ((n1 - 1)//bp + 1)) < max((n1 - 1)//bp + 1, 1)
  fr = index (b*br) < 1
  h = index (min(br, 1 - fr)) < min(br, 1 - fr) + 1
  fp = index (bp*e) < n1
  l = index (min(bp, n1 - fp)) < min(bp, n1 - fp) + 1
  prepare for q, d, b, e {
    for kd < 1 {
      for s < h {
        for u < 8*l + 16 vector {
          band[kd, s, u] = if 0 <= d + kd and d + kd < 1 and 0 <= fr + s and fr + s < 1 and 0 <= 8*fp + u - 8 and 8*fp + u - 8 < 8*n1 then x0[q, d + kd, fr + s, 8*fp + u - 8] else f32 0.0
        }
      }
    }
  }
  for y < h {
    for r < l//4 {
      f = index (4*r) < l - 3
      m = index (4) < 5
      for j < 8 vector {
        tap0 = x1[0, j]
        met0 = band[0, y, 8*f + j]
        sum0_0 = f32 mul(met0, tap0)
        met1 = band[0, y, 8*f + j + 8]
        sum0_1 = f32 mul(met1, tap0)
        met2 = band[0, y, 8*f + j + 16]
        sum0_2 = f32 mul(met2, tap0)
        met3 = band[0, y, 8*f + j + 24]
        sum0_3 = f32 mul(met3, tap0)
        tap1 = x1[1, j]
        sum1_0 = f32 add(sum0_0, f32 mul(met1, tap1))
        sum1_1 = f32 add(sum0_1, f32 mul(met2, tap1))
        sum1_2 = f32 add(sum0_2, f32 mul(met3, tap1))
        met4 = band[0, y, 8*f + j + 32]
        sum1_3 = f32 add(sum0_3, f32 mul(met4, tap1))
        tap2 = x1[2, j]
        sum2_0 = f32 add(sum1_0, f32 mul(met2, tap2))
        sum2_1 = f32 add(sum1_1, f32 mul(met3, tap2))
        sum2_2 = f32 add(sum1_2, f32 mul(met4, tap2))
        met5 = band[0, y, 8*f + j + 40]
        sum2_3 = f32 add(sum1_3, f32 mul(met5, tap2))
        sums[0, j] = sum2_0
        sums[1, j] = sum2_1
        sums[2, j] = sum2_2
        sums[3, j] = sum2_3
      }
      for i < m {
        for j < 8 vector {
          v0 = sums[i, j]
          y0[q, f + fp + i, j] = v0
        }
      }
    }
    for r < l % 4 {
      f = index (r + 4*(l//4)) < l
      m = index (1) < 2
      for j < 8 vector {
        tap0 = x1[0, j]
        met0 = band[0, y, 8*f + j]
        sum0_0 = f32 mul(met0, tap0)
        tap1 = x1[1, j]
        met1 = band[0, y, 8*f + j + 8]
        sum1_0 = f32 add(sum0_0, f32 mul(met1, tap1))
        tap2 = x1[2, j]
        met2 = band[0, y, 8*f + j + 16]
        sum2_0 = f32 add(sum1_0, f32 mul(met2, tap2))
        sums[0, j] = sum2_0
      }
      for i < m {
        for j < 8 vector {
          v0 = sums[i, j]
          y0[q, f + fp + i, j] = v0
        }
      }
    }
  }
}
