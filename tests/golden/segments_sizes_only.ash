# RUN: fuse, segments
graph count(x: f32[n]) -> (i64[], f32[k]) {
  %0 = nonzero(x) late [k <= n]
  %1 = dim_value() {value=k}
  %2 = iota() {shape=[k], axis=0, dtype=f32}
  return %1, %2
}
--------------------------------------------------------------------------------
graph count(x: f32[n]) -> (i64[], f32[k]) {
  %0 = nonzero(x) late [k <= n] : i64[k, 1]
  %1, %2 = segment()
    body() -> (i64[], f32[k]) {
      %0 = kernel()
        body() -> i64[] {
          %0 = dim_value() {value=k} : i64[]
          return %0
        } : i64[]
      %1 = kernel()
        body() -> f32[k] {
          %0 = iota() {shape=[k], axis=0, dtype=f32} : f32[k]
          return %0
        } : f32[k]
      return %0, %1
    } : (i64[], f32[k])
  return %1, %2
}
