# RUN: fuse, segments
graph waves(x: f32[n], y: f32[n]) -> (i64[j, 1], f32[n], i64[i, 1]) {
  %0 = exp(x)
  %1 = nonzero(%0) late [k <= n]
  %2 = mul(%1, %1)
  %3 = nonzero(y) late [i <= n]
  %4 = sum(%2) {axes=[1]}
  %5 = nonzero(%4) late [j <= k]
  %6 = exp(%0)
  return %5, %6, %3
}
--------------------------------------------------------------------------------
graph waves(x: f32[n], y: f32[n]) -> (i64[j, 1], f32[n], i64[i, 1]) {
  %0, %1 = segment(x, y)
    body(a0: f32[n], a1: f32[n]) -> (f32[n], f32[n]) {
      %0 = kernel(a0)
        body(a0: f32[n]) -> f32[n] {
          %0 = exp(a0) : f32[n]
          return %0
        } : f32[n]
      %1 = kernel(%0)
        body(a0: f32[n]) -> f32[n] {
          %0 = exp(a0) : f32[n]
          return %0
        } : f32[n]
      return %0, %1
    } : (f32[n], f32[n])
  %2 = nonzero(%0) late [k <= n] : i64[k, 1]
  %3 = segment(%2)
    body(a0: i64[k, 1]) -> i64[k] {
      %0 = kernel(a0)
        body(a0: i64[k, 1]) -> i64[k] {
          %0 = mul(a0, a0) : i64[k, 1]
          %1 = sum(%0) {axes=[1]} : i64[k]
          return %1
        } : i64[k]
      return %0
    } : i64[k]
  %4 = nonzero(%3) late [j <= k] : i64[j, 1]
  %5 = nonzero(y) late [i <= n] : i64[i, 1]
  return %4, %1, %5
}
