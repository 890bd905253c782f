# RUN: fuse, kernels avx512
graph layer(x: f32[m, 8], scale: f32[m, 1]) -> f32[m, 16] {
  %0 = mul(x, scale)
  %1 = constant() {value=@w1 f32[8, 16] sha256:22802d385e80d278067487007f235c0e53ac85f091deacb074f719fa26dfe8b0}
  %2 = dot(%0, %1) {contract=([1], [0])}
  return %2
}
--------------------------------------------------------------------------------
# mul+dot
kernel (n0, runs; x0: f32[n0, 8], x1: f32[n0, 1], x2: f32[512], y0: f32[n0, 16] written) tasks t < runs*((n0 + 95)//96) {
  axis runs: 0..
  scratch sums: f32[6, 64]
  scratch block: f32[min(n0, 96), 8]
  b = index (t//runs) < max((n0 + 95)//96, 1)
  c = index (t % runs) < max(runs, 1)
  f = index (c//max(runs, 1)) < 2
  e = index ((c + 1)//max(runs, 1)) < 2
  h = index (min(n0 - 96*b, 96)) < min(n0 - 96*b, 96) + 1
  prepare for b {
    for i < h {
      for k < 8 vector {
        v0 = x0[96*b + i, k]
        v1 = x1[96*b + i, 0]
        v2 = f32 mul(v0, v1)
        block[i, k] = v2
      }
    }
  }
  for p < e - f {
    w = index (min(16 - 64*f - 64*p, 64)) < min(16 - 64*f - 64*p, 64) + 1
    for r < (h + 5)//6 {
      sums[:min(h - 6*r, 6), :w] = block[6*r + row of min(n0, 96) by 8, column of 8 by 1] @ x2[0 of 1 by 512, f + p of 1 by 512, row of 8 by 64, column of 64 by 1] padded over 8
      for i < min(h - 6*r, 6) {
        for j < w vector {
          v0 = sums[i, j]
          y0[96*b + i + 6*r, 64*f + j + 64*p] = v0
        }
      }
    }
  }
}
