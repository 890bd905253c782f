# RUN: fuse, kernels avx512
graph layer(x: f32[batch, seq, 8], bias: f32[16], rest: f32[batch, seq, 16]) -> f32[batch, seq, 16] {
  %0 = constant() {value=@w1 f32[8, 16] sha256:22802d385e80d278067487007f235c0e53ac85f091deacb074f719fa26dfe8b0}
  %1 = dot(x, %0) {contract=([2], [0])}
  %2 = add(%1, bias)
  %3 = relu(%2)
  %4 = add(%3, rest)
  return %4
}
--------------------------------------------------------------------------------
# dot+add+relu
kernel (n0, n1; x0: f32[8*n0*n1], x1: f32[512], x2: f32[16], x3: f32[n0*n1, 16], y0: f32[n0*n1, 16] written) tasks t < (n0*n1 + 23)//24 {
  scratch sums: f32[6, 64]
  b = index (t) < max((n0*n1 + 23)//24, 1)
  p = index (0) < 1
  h = index (min(n0*n1 - 24*b, 24)) < min(n0*n1 - 24*b, 24) + 1
  w = index (min(16 - 64*p, 64)) < min(16 - 64*p, 64) + 1
  for r < (h + 5)//6 {
    sums[:min(h - 6*r, 6), :w] = x0[24*b + 6*r + row of n0*n1 by 8, column of 8 by 1] @ x1[0 of 1 by 512, p of 1 by 512, row of 8 by 64, column of 64 by 1] padded over 8
    for i < min(h - 6*r, 6) {
      for j < w vector {
        v0 = sums[i, j]
        v1 = x2[j + 64*p]
        v2 = f32 add(v0, v1)
        v3 = f32 maximum(v2, f32 0.0)
        v4 = x3[24*b + i + 6*r, j + 64*p]
        v5 = f32 add(v3, v4)
        y0[24*b + i + 6*r, j + 64*p] = v5
      }
    }
  }
}
