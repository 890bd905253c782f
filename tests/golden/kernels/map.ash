# RUN: fuse, kernels avx512
graph gelu_of_sum(x: f32[batch, width], bias: f32[width]) -> f32[batch, width] {
  %0 = add(x, bias)
  %1 = gelu(%0)
  return %1
}
--------------------------------------------------------------------------------
# add+gelu
kernel (n0, n1; x0: f32[n0*n1], x1: f32[n1], y0: f32[n0*n1] written) tasks t < n0 {
  streams if (n0*n1)//6291456
  for i1 < n1 vector {
    v0 = x0[n1*t + i1]
    v1 = x1[i1]
    v2 = f32 add(v0, v1)
    v3 = f32 mul(v2, f32 0.5)
    v4 = f32 mul(v2, f32 0.7071067690849304)
    v5 = f32 erf(v4)
    v6 = f32 add(v5, f32 1.0)
    v7 = f32 mul(v3, v6)
    y0[n1*t + i1] = v7
  }
}
