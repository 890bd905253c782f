# RUN: fuse, kernels avx512
# RUN: fuse, kernels avx2
# RUN: fuse, kernels sse2
graph gated(x: f32[batch, seq, 8], bias: f32[8]) -> f32[batch, seq, 8] {
  %0 = constant() {value=@w1 f32[8, 16] sha256:22802d385e80d278067487007f235c0e53ac85f091deacb074f719fa26dfe8b0}
  %1 = dot(x, %0) {contract=([2], [0])}
  %2 = slice(%1) {starts=[0, 0, 0], stops=[batch, seq, 8], steps=[1, 1, 1]}
  %3 = relu(%2)
  %4 = slice(%1) {starts=[0, 0, 8], stops=[batch, seq, 16], steps=[1, 1, 1]}
  %5 = add(%4, bias)
  %6 = mul(%3, %5)
  return %6
}
--------------------------------------------------------------------------------
# dot+slice+...+mul
kernel (n0, n1; x0: f32[8*n0*n1], x1: f32[256], x2: f32[8], y0: f32[n0*n1, 8] written) tasks t < (n0*n1 + 23)//24 {
  scratch sums: f32[6, 32]
  b = index (t) < max((n0*n1 + 23)//24, 1)
  p = index (0) < 1
  h = index (min(n0*n1 - 24*b, 24)) < min(n0*n1 - 24*b, 24) + 1
  w = index (min(8 - 16*p, 16)) < min(8 - 16*p, 16) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :32] = x0[24*b + 6*r + row of n0*n1 by 8, column of 8 by 1] @ x1[0 of 1 by 256, p of 1 by 256, row of 8 by 32, column of 32 by 1] padded over 8
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        v1 = f32 maximum(v0, f32 0.0)
        v2 = sums[i, j + 16]
        v3 = x2[j + 16*p]
        v4 = f32 add(v2, v3)
        v5 = f32 mul(v1, v4)
        y0[24*b + i + 6*r, j + 16*p] = v5
      }
    }
  }
}
--------------------------------------------------------------------------------
# dot+slice+...+mul
kernel (n0, n1; x0: f32[8*n0*n1], x1: f32[128], x2: f32[8], y0: f32[n0*n1, 8] written) tasks t < (n0*n1 + 23)//24 {
  scratch sums: f32[6, 16]
  b = index (t) < max((n0*n1 + 23)//24, 1)
  p = index (0) < 1
  h = index (min(n0*n1 - 24*b, 24)) < min(n0*n1 - 24*b, 24) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :16] = x0[24*b + 6*r + row of n0*n1 by 8, column of 8 by 1] @ x1[0 of 1 by 128, p of 1 by 128, row of 8 by 16, column of 16 by 1] padded over 8
    for i < min(h - 6*r, 6) {
      for j < 8 vector {
        v0 = sums[i, j]
        v1 = f32 maximum(v0, f32 0.0)
        v2 = sums[i, j + 8]
        v3 = x2[j + 8*p]
        v4 = f32 add(v2, v3)
        v5 = f32 mul(v1, v4)
        y0[24*b + i + 6*r, j + 8*p] = v5
      }
    }
  }
}
--------------------------------------------------------------------------------
# dot+slice+...+mul
kernel (n0, n1; x0: f32[8*n0*n1], x1: f32[128], x2: f32[8], y0: f32[n0*n1, 8] written) tasks t < 2*((n0*n1 + 23)//24) {
  scratch sums: f32[6, 8]
  b = index (t//2) < max((n0*n1 + 23)//24, 1)
  p = index (t % 2) < 2
  h = index (min(n0*n1 - 24*b, 24)) < min(n0*n1 - 24*b, 24) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :8] = x0[24*b + 6*r + row of n0*n1 by 8, column of 8 by 1] @ x1[0 of 1 by 128, p of 2 by 64, row of 8 by 8, column of 8 by 1] padded over 8
    for i < min(h - 6*r, 6) {
      for j < 4 vector {
        v0 = sums[i, j]
        v1 = f32 maximum(v0, f32 0.0)
        v2 = sums[i, j + 4]
        v3 = x2[j + 4*p]
        v4 = f32 add(v2, v3)
        v5 = f32 mul(v1, v4)
        y0[24*b + i + 6*r, j + 4*p] = v5
      }
    }
  }
}
