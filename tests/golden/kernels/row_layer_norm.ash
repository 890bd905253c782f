# RUN: fuse, kernels avx512
graph normalized(x: f32[batch, width], w: f32[width], b: f32[width]) -> f32[batch, width] {
  %0 = layer_norm(x, w, b) {axis=1}
  return %0
}
--------------------------------------------------------------------------------
# layer_norm
kernel (n0, n1; x0: f32[n0*n1], x1: f32[n1], x2: f32[n1], y0: f32[n0*n1] written) tasks t < n0 {
  streams if (n0*n1)//6291456
  v4 = (n1)
  v5 = f32 cast(v4)
  v13 = (n1)
  v14 = f32 cast(v13)
  for k1 < n1 vector with v2: f32 add {
    v3 = x0[n1*t + k1]
    v2 <- v3
  }
  v6 = f32 div(v2, v5)
  for k8 < n1 vector with v9: f32 add {
    v10 = x0[n1*t + k8]
    v11 = f32 sub(v10, v6)
    v12 = f32 mul(v11, v11)
    v9 <- v12
  }
  v15 = f32 div(v9, v14)
  v16 = f32 add(v15, f32 9.999999747378752e-06)
  v17 = f32 rsqrt(v16)
  for i1 < n1 vector {
    v0 = x0[n1*t + i1]
    v7 = f32 sub(v0, v6)
    v18 = f32 mul(v7, v17)
    v19 = x1[i1]
    v20 = f32 mul(v18, v19)
    v21 = x2[i1]
    v22 = f32 add(v20, v21)
    y0[n1*t + i1] = v22
  }
}
