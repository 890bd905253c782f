# RUN: fuse, long-tasks, kernels avx512
graph sorted(x: f32[batch, seq]) -> (f32[batch, seq], i64[batch, seq]) {
  %0, %1 = sort(x) {axis=1}
  return %0, %1
}
--------------------------------------------------------------------------------
# sort_parts
kernel (n0, n1, n2, n3, n4, n5, n6; x: f32[n0*n1*n2], values: f32[n0*n2*n5*min(n3, n6)] written, places: i64[n0*n2*n5*min(n3, n6)] written) tasks t < n0*n2*n5 {
  scratch entries: i64[2*n6]
  native sort_parts_f32
}

# merge_parts
kernel (n0, n1, n2, n3, n4, n5, n6, n7; x: f32[n0*n1*n2], part_values: f32[n0*n2*n5*min(n3, n6)], part_places: i64[n0*n2*n5*min(n3, n6)], values: f32[n0*n2*n3] written, places: i64[n0*n2*n3] written) tasks t < n0*n2*n7 {
  scratch entries: i64[2*n1 - 2*n1*min(n5, 1) + 10*n5]
  native merge_parts_f32
}
