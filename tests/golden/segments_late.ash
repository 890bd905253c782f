# RUN: fuse, segments
axes { n: 0..64 }
graph late(x: f32[n], y: f32[n, 4]) -> (f32[4], f32[k]) {
  %0 = exp(x)
  %1 = nonzero(%0) late [k <= n]
  %2 = reshape(%1) {shape=[k]}
  %3 = gather(y, %2) {axis=0}
  %4 = sum(%3) {axes=[0]}
  %5 = gather(%0, %2) {axis=0}
  %6 = neg(%5)
  return %4, %6
}
--------------------------------------------------------------------------------
axes { n: 0..64 }
graph late(x: f32[n], y: f32[n, 4]) -> (f32[4], f32[k]) {
  %0 = segment(x, y)
    body(a0: f32[n], a1: f32[n, 4]) -> f32[n] {
      %0 = kernel(a0)
        body(a0: f32[n]) -> f32[n] {
          %0 = exp(a0) : f32[n]
          return %0
        } : f32[n]
      return %0
    } : f32[n]
  %1 = nonzero(%0) late [k <= n] : i64[k, 1]
  %2, %3 = segment(y, %1, %0)
    body(a0: f32[n, 4], a1: i64[k, 1], a2: f32[n]) -> (f32[4], f32[k]) {
      %0 = reshape(a1) {shape=[k]} : i64[k]
      %1 = kernel(a0, %0)
        body(a0: f32[n, 4], a1: i64[k]) -> f32[4] {
          %0 = gather(a0, a1) {axis=0} : f32[k, 4]
          %1 = sum(%0) {axes=[0]} : f32[4]
          return %1
        } : f32[4]
      %2 = kernel(a2, %0)
        body(a0: f32[n], a1: i64[k]) -> f32[k] {
          %0 = gather(a0, a1) {axis=0} : f32[k]
          %1 = neg(%0) : f32[k]
          return %1
        } : f32[k]
      return %1, %2
    } : (f32[4], f32[k])
  return %2, %3
}
