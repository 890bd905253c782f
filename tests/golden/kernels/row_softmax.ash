# RUN: fuse, kernels avx512
graph softmax_of_rows(x: f32[batch, seq]) -> f32[batch, seq] {
  %0 = softmax(x) {axis=1}
  return %0
}
--------------------------------------------------------------------------------
# softmax
kernel (n0, n1; x0: f32[n0*n1], y0: f32[n0*n1] written) tasks t < n0 {
  scratch kept0: f32[n1]
  streams if (n0*n1)//6291456
  for k1 < n1 vector with v2: f32 maximum {
    v3 = x0[n1*t + k1]
    v2 <- v3
  }
  for k6 < n1 vector with v7: f32 add {
    v8 = x0[n1*t + k6]
    v9 = f32 sub(v8, v2)
    v10 = f32 exp(v9)
    kept0[k6] = v10
    v7 <- v10
  }
  for i1 < n1 vector {
    v5 = kept0[i1]
    v11 = f32 div(v5, v7)
    y0[n1*t + i1] = v11
  }
}
