# RUN: fuse, long-tasks, kernels avx512
graph total(x: f32[n]) -> f32[] {
  %0 = exp(x)
  %1 = sum(%0) {axes=[0]}
  return %1
}
--------------------------------------------------------------------------------
# exp+part_reduce
kernel (n0, n1, n2; x0: f32[n0], y0: f32[n2] written) tasks t < n2 {
  axis n2: 0..
  axis n1: 0..
  streams if n2//6291456
  g0 = index (n1*t) < n0 + 1
  for k1 < min(n0 - g0, n1) vector with v2: f32 add {
    v3 = x0[g0 + k1]
    v4 = f32 exp(v3)
    v2 <- v4
  }
  y0[t] = v2
}

# exp+sum+staged: whole
kernel (n0, n1; x0: f32[n0], x1: f32[n1], y0: f32[1] written) tasks t < 1 {
  axis n1: 0..
  for k0 < n0 vector with v1: f32 add {
    v2 = x0[k0]
    v3 = f32 exp(v2)
    v1 <- v3
  }
  y0[0] = v1
}

# exp+sum+staged: parts
kernel (n0, n1; x0: f32[n0], x1: f32[n1], y0: f32[1] written) tasks t < 1 {
  axis n1: 0..
  for k0 < n1 vector with v1: f32 add {
    v2 = x1[k0]
    v1 <- v2
  }
  y0[0] = v1
}
