# RUN: fuse, kernels avx512
graph sums_so_far(x: f32[batch, seq]) -> (f32[batch, seq], f32[batch, seq]) {
  %0 = cumsum(x) {axis=1}
  %1 = cumsum(x) {axis=0, reverse=true}
  return %0, %1
}
--------------------------------------------------------------------------------
# cumsum
kernel (n0, n1; x0: f32[n0*n1], y0: f32[n0*n1] written) tasks t < n0 {
  streams if (n0*n1)//6291456
  for i1 < n1 with v2: f64 add {
    v0 = x0[n1*t + i1]
    v1 = f64 cast(v0)
    v2 <- v1
    v3 = v2
    v4 = f32 cast(v3)
    y0[n1*t + i1] = v4
  }
}

# cumsum
kernel (n0, n1; x0: f32[n0*n1], y0: f32[n0*n1] written) tasks t < (n1 + 63)//64 {
  streams if (n0*n1)//6291456
  for j < min(n1 - 64*t, 64) vector {
    for i0 < n0 with v2: f64 add {
      v0 = x0[n0*n1 - i0*n1 + j - n1 + 64*t]
      v1 = f64 cast(v0)
      v2 <- v1
      v3 = v2
      v4 = f32 cast(v3)
      y0[n0*n1 - i0*n1 + j - n1 + 64*t] = v4
    }
  }
}
