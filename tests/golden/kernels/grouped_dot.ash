# RUN: fuse, kernels avx512
# RUN: fuse, kernels avx2
# RUN: fuse, kernels sse2
graph experts(x: f32[tokens, k], w: f32[experts, k, n], ends: i64[experts]) -> f32[tokens, n] {
  %0 = grouped_dot(x, w, ends)
  return %0
}
--------------------------------------------------------------------------------
# grouped_dot
kernel (n0, n1, n2, n3; x0: f32[n0*n1], x1: f32[n1*n2*n3], x2: i64[n2], y0: f32[n0, n3] written) tasks t < ((n0 + 95)//96)*((n3 + 63)//64) {
  scratch sums: f32[6, 64]
  p = index (t//((n0 + 95)//96)) < max((n3 + 63)//64, 1)
  b = index (t % ((n0 + 95)//96)) < max((n0 + 95)//96, 1)
  h = index (min(n0 - 96*b, 96)) < min(n0 - 96*b, 96) + 1
  w = index (min(n3 - 64*p, 64)) < min(n3 - 64*p, 64) + 1
  for c < n2//16 + 1 {
    sc = index if 1 <= 16*c then x2[16*c - 1] else (0) < n0 + 1
    ec = index if 16*c + 15 < n2 then x2[16*c + 15] else (n0) < n0 + 1
    fc = index (sc - 96*b) < h + 1
    mc = index (ec - 96*b - fc) < h - fc + 1
    nc = index (min(n2 - 16*c + 1, 16)*min(mc, 1)) < 17
    for gc < nc {
      g = index (16*c + gc) < n2 + 1
      s = index if 1 <= g then x2[g - 1] else (0) < n0 + 1
      e = index if g < n2 then x2[g] else (n0) < n0 + 1
      f = index (s - 96*b) < h + 1
      m = index (e - 96*b - f) < h - f + 1
      k = index (n1*min(n2 - g, 1)) < min(n1*n2 - g*n1, n1) + 1
      for r < (m + 5)//6 {
        sums[:min(m - 6*r, 6), :w] = x0[96*b + f + 6*r + row of n0 by n1, column of n1 by 1] @ x1[g*n1 + row of n1*n2 by n3, column + 64*p of n3 by 1] over k
        for i < min(m - 6*r, 6) {
          for j < w vector {
            v0 = sums[i, j]
            y0[96*b + f + i + 6*r, j + 64*p] = v0
          }
        }
      }
    }
  }
}
--------------------------------------------------------------------------------
# grouped_dot
kernel (n0, n1, n2, n3; x0: f32[n0*n1], x1: f32[n1*n2*n3], x2: i64[n2], y0: f32[n0, n3] written) tasks t < ((n0 + 95)//96)*((n3 + 15)//16) {
  scratch sums: f32[6, 16]
  p = index (t//((n0 + 95)//96)) < max((n3 + 15)//16, 1)
  b = index (t % ((n0 + 95)//96)) < max((n0 + 95)//96, 1)
  h = index (min(n0 - 96*b, 96)) < min(n0 - 96*b, 96) + 1
  w = index (min(n3 - 16*p, 16)) < min(n3 - 16*p, 16) + 1
  for c < n2//16 + 1 {
    sc = index if 1 <= 16*c then x2[16*c - 1] else (0) < n0 + 1
    ec = index if 16*c + 15 < n2 then x2[16*c + 15] else (n0) < n0 + 1
    fc = index (sc - 96*b) < h + 1
    mc = index (ec - 96*b - fc) < h - fc + 1
    nc = index (min(n2 - 16*c + 1, 16)*min(mc, 1)) < 17
    for gc < nc {
      g = index (16*c + gc) < n2 + 1
      s = index if 1 <= g then x2[g - 1] else (0) < n0 + 1
      e = index if g < n2 then x2[g] else (n0) < n0 + 1
      f = index (s - 96*b) < h + 1
      m = index (e - 96*b - f) < h - f + 1
      k = index (n1*min(n2 - g, 1)) < min(n1*n2 - g*n1, n1) + 1
      for r < (m + 5)//6 {
        sums[:min(m - 6*r, 6), :w] = x0[96*b + f + 6*r + row of n0 by n1, column of n1 by 1] @ x1[g*n1 + row of n1*n2 by n3, column + 16*p of n3 by 1] over k
        for i < min(m - 6*r, 6) {
          for j < w vector {
            v0 = sums[i, j]
            y0[96*b + f + i + 6*r, j + 16*p] = v0
          }
        }
      }
    }
  }
}
--------------------------------------------------------------------------------
# grouped_dot
kernel (n0, n1, n2, n3; x0: f32[n0*n1], x1: f32[n1*n2*n3], x2: i64[n2], y0: f32[n0, n3] written) tasks t < ((n0 + 95)//96)*((n3 + 7)//8) {
  scratch sums: f32[6, 8]
  p = index (t//((n0 + 95)//96)) < max((n3 + 7)//8, 1)
  b = index (t % ((n0 + 95)//96)) < max((n0 + 95)//96, 1)
  h = index (min(n0 - 96*b, 96)) < min(n0 - 96*b, 96) + 1
  w = index (min(n3 - 8*p, 8)) < min(n3 - 8*p, 8) + 1
  for c < n2//16 + 1 {
    sc = index if 1 <= 16*c then x2[16*c - 1] else (0) < n0 + 1
    ec = index if 16*c + 15 < n2 then x2[16*c + 15] else (n0) < n0 + 1
    fc = index (sc - 96*b) < h + 1
    mc = index (ec - 96*b - fc) < h - fc + 1
    nc = index (min(n2 - 16*c + 1, 16)*min(mc, 1)) < 17
    for gc < nc {
      g = index (16*c + gc) < n2 + 1
      s = index if 1 <= g then x2[g - 1] else (0) < n0 + 1
      e = index if g < n2 then x2[g] else (n0) < n0 + 1
      f = index (s - 96*b) < h + 1
      m = index (e - 96*b - f) < h - f + 1
      k = index (n1*min(n2 - g, 1)) < min(n1*n2 - g*n1, n1) + 1
      for r < (m + 5)//6 {
        sums[:min(m - 6*r, 6), :w] = x0[96*b + f + 6*r + row of n0 by n1, column of n1 by 1] @ x1[g*n1 + row of n1*n2 by n3, column + 8*p of n3 by 1] over k
        for i < min(m - 6*r, 6) {
          for j < w vector {
            v0 = sums[i, j]
            y0[96*b + f + i + 6*r, j + 8*p] = v0
          }
        }
      }
    }
  }
}
