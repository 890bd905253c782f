# RUN: fuse, kernels avx512
graph embedded(table: f32[words, width], ids: i64[seq]) -> f32[seq, width] {
  %0 = gather(table, ids) {axis=0}
  %1 = neg(%0)
  return %1
}
--------------------------------------------------------------------------------
# gather+neg
kernel (n0, n1, n2; x0: f32[n0*n1], x1: i64[n2], y0: f32[n1*n2] written) tasks t < n2 {
  streams if (n1*n2)//6291456
  for i1 < n1 vector {
    v0 = x1[t]
    g1 = index v0 < n0
    v2 = x0[g1*n1 + i1]
    v3 = f32 neg(v2)
    y0[n1*t + i1] = v3
  }
}
