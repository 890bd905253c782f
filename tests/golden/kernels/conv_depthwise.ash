# RUN: fuse, kernels avx512
graph lines(x: f32[n, t, 8]) -> f32[n, t, 8] {
  %0 = constant() {value=@w0 f32[8, 3, 1, 1] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1 = conv(x, %0) {strides=[1], dilations=[1], low=[1], high=[1]}
  return %1
}
--------------------------------------------------------------------------------
# conv
kernel (n0, n1, br, bp; x0: f32[n0, 1, 1, n1, 8], x1: f32[1, 1, 3, 8], y0: f32[n0, n1, 8] written) tasks t < n0*((n1 - 1)//bp) + n0 {
  axis br: 1..
  axis bp: 1..
  fact 2 < n1 + 2
  q = index (t//((n1 - 1)//bp + 1)) < max(n0, 1)
  d = index (0) < 1
  b = index (0) < 1
  e = index (t % ((n1 - 1)//bp + 1)) < max((n1 - 1)//bp + 1, 1)
  g = index (0) < 1
  fr = index (b*br) < 1
  h = index (min(br, 1 - fr)) < min(br, 1 - fr) + 1
  fp = index (bp*e) < n1
  l = index (min(bp, n1 - fp)) < min(bp, n1 - fp) + 1
  le = index (1 - fp) < l + 1
  in = index (n1 - fp - le - 1) < min(l - le, max(0, n1 - 2)) + 1
  for y < h {
    for r < in//4 {
      f = index (le + 4*r) < l - 3
      u = index (f + fp - 1) < n1 - 5
      for j < 8 vector {
        for kd < 1 with sum0: f32 add, sum1: f32 add, sum2: f32 add, sum3: f32 add {
          xd = index (d + kd) < 1
          for kh < 1 {
            xh = index (fr + kh + y) < 1
            tap0 = x1[kd, kh, 0, 8*g + j]
            met0 = x0[q, xd, xh, u, 8*g + j]
            sum0 <- f32 mul(met0, tap0)
            met1 = x0[q, xd, xh, u + 1, 8*g + j]
            sum1 <- f32 mul(met1, tap0)
            met2 = x0[q, xd, xh, u + 2, 8*g + j]
            sum2 <- f32 mul(met2, tap0)
            met3 = x0[q, xd, xh, u + 3, 8*g + j]
            sum3 <- f32 mul(met3, tap0)
            tap1 = x1[kd, kh, 1, 8*g + j]
            sum0 <- f32 mul(met1, tap1)
            sum1 <- f32 mul(met2, tap1)
            sum2 <- f32 mul(met3, tap1)
            met4 = x0[q, xd, xh, u + 4, 8*g + j]
            sum3 <- f32 mul(met4, tap1)
            tap2 = x1[kd, kh, 2, 8*g + j]
            sum0 <- f32 mul(met2, tap2)
            sum1 <- f32 mul(met3, tap2)
            sum2 <- f32 mul(met4, tap2)
            met5 = x0[q, xd, xh, u + 5, 8*g + j]
            sum3 <- f32 mul(met5, tap2)
          }
        }
        v0 = sum0
        y0[q, f + fp, 8*g + j] = v0
        v0 = sum1
        y0[q, f + fp + 1, 8*g + j] = v0
        v0 = sum2
        y0[q, f + fp + 2, 8*g + j] = v0
        v0 = sum3
        y0[q, f + fp + 3, 8*g + j] = v0
      }
    }
    for r < (in % 4)//2 {
      f = index (le + 2*r + 4*(in//4)) < l - 1
      u = index (f + fp - 1) < n1 - 3
      for j < 8 vector {
        for kd < 1 with sum0: f32 add, sum1: f32 add {
          xd = index (d + kd) < 1
          for kh < 1 {
            xh = index (fr + kh + y) < 1
            tap0 = x1[kd, kh, 0, 8*g + j]
            met0 = x0[q, xd, xh, u, 8*g + j]
            sum0 <- f32 mul(met0, tap0)
            met1 = x0[q, xd, xh, u + 1, 8*g + j]
            sum1 <- f32 mul(met1, tap0)
            tap1 = x1[kd, kh, 1, 8*g + j]
            sum0 <- f32 mul(met1, tap1)
            met2 = x0[q, xd, xh, u + 2, 8*g + j]
            sum1 <- f32 mul(met2, tap1)
            tap2 = x1[kd, kh, 2, 8*g + j]
            sum0 <- f32 mul(met2, tap2)
            met3 = x0[q, xd, xh, u + 3, 8*g + j]
            sum1 <- f32 mul(met3, tap2)
          }
        }
        v0 = sum0
        y0[q, f + fp, 8*g + j] = v0
        v0 = sum1
        y0[q, f + fp + 1, 8*g + j] = v0
      }
    }
    for r < in % 2 {
      f = index (le + r + 4*(in//4) + 2*((in % 4)//2)) < l
      u = index (f + fp - 1) < n1 - 2
      for j < 8 vector {
        for kd < 1 with sum0: f32 add {
          xd = index (d + kd) < 1
          for kh < 1 {
            xh = index (fr + kh + y) < 1
            tap0 = x1[kd, kh, 0, 8*g + j]
            met0 = x0[q, xd, xh, u, 8*g + j]
            sum0 <- f32 mul(met0, tap0)
            tap1 = x1[kd, kh, 1, 8*g + j]
            met1 = x0[q, xd, xh, u + 1, 8*g + j]
            sum0 <- f32 mul(met1, tap1)
            tap2 = x1[kd, kh, 2, 8*g + j]
            met2 = x0[q, xd, xh, u + 2, 8*g + j]
            sum0 <- f32 mul(met2, tap2)
          }
        }
        v0 = sum0
        y0[q, f + fp, 8*g + j] = v0
      }
    }
    for r < l - in {
      f = index (in*min(max(0, r - le + 1), 1) + r) < l
      for j < 8 vector {
        for kd < 1 with sum0: f32 add {
          xd = index (d + kd) < 1
          for kh < 1 {
            xh = index (fr + kh + y) < 1
            tap0 = x1[kd, kh, 0, 8*g + j]
            met0 = if 0 <= f + fp - 1 and f + fp - 1 < n1 then x0[q, xd, xh, f + fp - 1, 8*g + j] else f32 0.0
            sum0 <- f32 mul(met0, tap0)
            tap1 = x1[kd, kh, 1, 8*g + j]
            met1 = if 0 <= f + fp and f + fp < n1 then x0[q, xd, xh, f + fp, 8*g + j] else f32 0.0
            sum0 <- f32 mul(met1, tap1)
            tap2 = x1[kd, kh, 2, 8*g + j]
            met2 = if 0 <= f + fp + 1 and f + fp + 1 < n1 then x0[q, xd, xh, f + fp + 1, 8*g + j] else f32 0.0
            sum0 <- f32 mul(met2, tap2)
          }
        }
        v0 = sum0
        y0[q, f + fp, 8*g + j] = v0
      }
    }
  }
}
