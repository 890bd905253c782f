# RUN: reshapes-last
# RUN: reshapes-last, fuse
graph group_norm(x: f32[n, s, 64], w: f32[64], b: f32[64]) -> f32[n, s, 64] {
  %0 = reshape(x) {shape=[n, s, 4, 16]}
  %1 = mean(%0) {axes=[3], keepdims=true}
  %2 = sub(%0, %1)
  %3 = mul(%2, %2)
  %4 = mean(%3) {axes=[3], keepdims=true}
  %5 = rsqrt(%4)
  %6 = mul(%2, %5)
  %7 = reshape(%6) {shape=[n, s, 64]}
  %8 = mul(%7, w)
  %9 = add(%8, b)
  return %9
}
--------------------------------------------------------------------------------
graph group_norm(x: f32[n, s, 64], w: f32[64], b: f32[64]) -> f32[n, s, 64] {
  %0 = reshape(x) {shape=[n, s, 4, 16]} : f32[n, s, 4, 16]
  %1 = mean(%0) {axes=[3], keepdims=true} : f32[n, s, 4, 1]
  %2 = sub(%0, %1) : f32[n, s, 4, 16]
  %3 = mul(%2, %2) : f32[n, s, 4, 16]
  %4 = mean(%3) {axes=[3], keepdims=true} : f32[n, s, 4, 1]
  %5 = rsqrt(%4) : f32[n, s, 4, 1]
  %6 = mul(%2, %5) : f32[n, s, 4, 16]
  %7 = reshape(w) {shape=[1, 1, 4, 16]} : f32[1, 1, 4, 16]
  %8 = mul(%6, %7) : f32[n, s, 4, 16]
  %9 = reshape(b) {shape=[1, 1, 4, 16]} : f32[1, 1, 4, 16]
  %10 = add(%8, %9) : f32[n, s, 4, 16]
  %11 = reshape(%10) {shape=[n, s, 64]} : f32[n, s, 64]
  return %11
}
--------------------------------------------------------------------------------
graph group_norm(x: f32[n, s, 64], w: f32[64], b: f32[64]) -> f32[n, s, 64] {
  %0 = reshape(x) {shape=[n, s, 4, 16]} : f32[n, s, 4, 16]
  %1 = reshape(w) {shape=[1, 1, 4, 16]} : f32[1, 1, 4, 16]
  %2 = reshape(b) {shape=[1, 1, 4, 16]} : f32[1, 1, 4, 16]
  %3 = kernel(%0, %1, %2)
    body(a0: f32[n, s, 4, 16], a1: f32[1, 1, 4, 16], a2: f32[1, 1, 4, 16]) -> f32[n, s, 4, 16] {
      %0 = mean(a0) {axes=[3], keepdims=true} : f32[n, s, 4, 1]
      %1 = sub(a0, %0) : f32[n, s, 4, 16]
      %2 = mul(%1, %1) : f32[n, s, 4, 16]
      %3 = mean(%2) {axes=[3], keepdims=true} : f32[n, s, 4, 1]
      %4 = rsqrt(%3) : f32[n, s, 4, 1]
      %5 = mul(%1, %4) : f32[n, s, 4, 16]
      %6 = mul(%5, a1) : f32[n, s, 4, 16]
      %7 = add(%6, a2) : f32[n, s, 4, 16]
      return %7
    } : f32[n, s, 4, 16]
  %4 = reshape(%3) {shape=[n, s, 64]} : f32[n, s, 64]
  return %4
}
