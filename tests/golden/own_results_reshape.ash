# RUN: fuse, own-results
graph model(x: f32[n, 8]) -> (f32[8*n], f32[n, 8], f32[n, 2, 4]) {
  %0 = exp(x)
  %1 = reshape(%0) {shape=[8*n]}
  %2 = tanh(x)
  %3 = reshape(%2) {shape=[n, 2, 4]}
  return %1, %2, %3
}
--------------------------------------------------------------------------------
graph model(x: f32[n, 8]) -> (f32[8*n], f32[n, 8], f32[n, 2, 4]) {
  %0 = kernel(x)
    body(a0: f32[n, 8]) -> f32[8*n] {
      %0 = exp(a0) : f32[n, 8]
      %1 = reshape(%0) {shape=[8*n]} : f32[8*n]
      return %1
    } : f32[8*n]
  %1 = kernel(x)
    body(a0: f32[n, 8]) -> f32[n, 8] {
      %0 = tanh(a0) : f32[n, 8]
      return %0
    } : f32[n, 8]
  %2 = reshape(%1) {shape=[n, 2, 4]} : f32[n, 2, 4]
  %3 = kernel(%2)
    body(a0: f32[n, 2, 4]) -> f32[n, 2, 4] {
      return a0
    } : f32[n, 2, 4]
  return %0, %1, %3
}
