# RUN: fuse, several-results
graph residual(x: f32[n, 8], a: f32[n, 8]) -> (f32[n, 8], f32[8, n]) {
  %0 = add(x, a)
  %1 = rms_norm(%0) {axis=1}
  %2 = mul(%0, %1)
  %3 = transpose(%1) {perm=[1, 0]}
  return %2, %3
}
--------------------------------------------------------------------------------
graph residual(x: f32[n, 8], a: f32[n, 8]) -> (f32[n, 8], f32[8, n]) {
  %0, %1 = kernel(x, a)
    body(a0: f32[n, 8], a1: f32[n, 8]) -> (f32[n, 8], f32[n, 8]) {
      %0 = add(a0, a1) : f32[n, 8]
      %1 = rms_norm(%0) {axis=1} : f32[n, 8]
      return %0, %1
    } : (f32[n, 8], f32[n, 8])
  %2 = kernel(%0, %1)
    body(a0: f32[n, 8], a1: f32[n, 8]) -> f32[n, 8] {
      %0 = mul(a0, a1) : f32[n, 8]
      return %0
    } : f32[n, 8]
  %3 = kernel(%1)
    body(a0: f32[n, 8]) -> f32[8, n] {
      %0 = transpose(a0) {perm=[1, 0]} : f32[8, n]
      return %0
    } : f32[8, n]
  return %2, %3
}
