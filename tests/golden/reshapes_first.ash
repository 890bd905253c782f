# RUN: reshapes-first
# RUN: reshapes-first, fuse
graph scaled(x: f32[n, s, 64], w: f32[64], y: f32[n, s, 4, 16]) -> (f32[n, s, 4, 16], f32[n, s, 4, 16]) {
  %0 = mul(x, w)
  %1 = relu(%0)
  %2 = reshape(%1) {shape=[n, s, 4, 16]}
  %3 = softmax(%2) {axis=3}
  %4 = exp(x)
  %5 = reshape(%4) {shape=[n, s, 4, 16]}
  %6 = add(%5, y)
  return %3, %6
}
--------------------------------------------------------------------------------
graph scaled(x: f32[n, s, 64], w: f32[64], y: f32[n, s, 4, 16]) -> (f32[n, s, 4, 16], f32[n, s, 4, 16]) {
  %0 = reshape(x) {shape=[n, s, 4, 16]} : f32[n, s, 4, 16]
  %1 = reshape(w) {shape=[1, 1, 4, 16]} : f32[1, 1, 4, 16]
  %2 = mul(%0, %1) : f32[n, s, 4, 16]
  %3 = relu(%2) : f32[n, s, 4, 16]
  %4 = softmax(%3) {axis=3} : f32[n, s, 4, 16]
  %5 = exp(%0) : f32[n, s, 4, 16]
  %6 = add(%5, y) : f32[n, s, 4, 16]
  return %4, %6
}
--------------------------------------------------------------------------------
graph scaled(x: f32[n, s, 64], w: f32[64], y: f32[n, s, 4, 16]) -> (f32[n, s, 4, 16], f32[n, s, 4, 16]) {
  %0 = reshape(x) {shape=[n, s, 4, 16]} : f32[n, s, 4, 16]
  %1 = reshape(w) {shape=[1, 1, 4, 16]} : f32[1, 1, 4, 16]
  %2 = kernel(%0, %1)
    body(a0: f32[n, s, 4, 16], a1: f32[1, 1, 4, 16]) -> f32[n, s, 4, 16] {
      %0 = mul(a0, a1) : f32[n, s, 4, 16]
      %1 = relu(%0) : f32[n, s, 4, 16]
      %2 = softmax(%1) {axis=3} : f32[n, s, 4, 16]
      return %2
    } : f32[n, s, 4, 16]
  %3 = kernel(%0, y)
    body(a0: f32[n, s, 4, 16], a1: f32[n, s, 4, 16]) -> f32[n, s, 4, 16] {
      %0 = exp(a0) : f32[n, s, 4, 16]
      %1 = add(%0, a1) : f32[n, s, 4, 16]
      return %1
    } : f32[n, s, 4, 16]
  return %2, %3
}
