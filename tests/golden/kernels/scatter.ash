# RUN: fuse, kernels avx512
graph scattered(x: f32[rows, width], i: i64[n], u: f32[n, width]) -> f32[rows, width] {
  %0 = scatter(x, i, u) {axis=0, combine=add}
  return %0
}
--------------------------------------------------------------------------------
# scatter
kernel (n0, n1, n2; x0: f32[n0*n1], x1: i64[n2], x2: f32[n1*n2], y0: f32[n0*n1] written) tasks t < (n1 + 63)//64 {
  streams if (n0*n1)//6291456
  for j < min(n1 - 64*t, 64) vector {
    for n < n0 {
      y0[n*n1 + j + 64*t] = x0[n*n1 + j + 64*t]
    }
    for m0 < n2 {
      found = x1[m0]
      r = index found < n0
      y0[n1*r + j + 64*t] = f32 select(bool eq(found, (r)), f32 add(y0[n1*r + j + 64*t], x2[m0*n1 + j + 64*t]), y0[n1*r + j + 64*t])
    }
  }
}
