# RUN: fuse, kernels avx512
graph sorted(x: f32[batch, seq]) -> (f32[batch, seq], i64[batch, seq]) {
  %0, %1 = sort(x) {axis=1, descending=true}
  return %0, %1
}
--------------------------------------------------------------------------------
# sort
kernel (n0, n1, n2, n3, n4; x: f32[n0*n1*n2], values: f32[n0*n2*n3] written, places: i64[n0*n2*n3] written) tasks t < n0*n2 {
  scratch entries: i64[2*n1]
  native sort_f32
}
