# RUN: fuse, long-tasks, kernels avx512
graph sums_so_far(x: f32[n]) -> f32[n] {
  %0 = cumsum(x) {axis=0}
  return %0
}
--------------------------------------------------------------------------------
# part_reduce
kernel (n0, n1, n2; x0: f32[n0], y0: f64[n2] written) tasks t < n2 {
  axis n2: 0..
  axis n1: 0..
  streams if n2//3145728
  g0 = index (n1*t) < n0 + 1
  for k1 < min(n0 - g0, n1) vector with v2: f64 add {
    v3 = x0[g0 + k1]
    v4 = f64 cast(v3)
    v2 <- v4
  }
  y0[t] = v2
}

# cumsum+part_cumulative+staged: whole
kernel (n0, n1, n2; x0: f32[n0], x1: f64[n1], y0: f32[n0] written) tasks t < 1 {
  axis n1: 0..
  axis n2: 0..
  streams if n0//6291456
  for i0 < n0 with v2: f64 add {
    v0 = x0[i0]
    v1 = f64 cast(v0)
    v2 <- v1
    v3 = v2
    v4 = f32 cast(v3)
    y0[i0] = v4
  }
}

# cumsum+part_cumulative+staged: parts
kernel (n0, n1, n2; x0: f32[n0], x1: f64[n1], y0: f32[n0] written) tasks t < n1 {
  axis n1: 0..
  axis n2: 0..
  streams if n0//6291456
  g0 = index (n2*t) < n0 + 1
  for k1 < min(n1, t) vector with v2: f64 add {
    v3 = x1[k1]
    v2 <- v3
  }
  for i0 < min(n0 - g0, n2) with v6: f64 add {
    v4 = x0[g0 + i0]
    v5 = f64 cast(v4)
    v6 <- v5
    v7 = v6
    v8 = f64 add(v2, v7)
    v9 = f32 cast(v8)
    y0[g0 + i0] = v9
  }
}
