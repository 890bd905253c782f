# RUN: rows-of-axes
# RUN: rows-of-axes, reshapes-last, fuse
graph group_norm(x: f32[b, 32, h, w], scale: f32[32, 1, 1]) -> f32[b, 32, h, w] {
  %0 = reshape(x) {shape=[b, 8, 4*h*w]}
  %1 = mean(%0) {axes=[2], keepdims=true}
  %2 = sub(%0, %1)
  %3 = mul(%2, %2)
  %4 = mean(%3) {axes=[2]}
  %5 = reshape(%4) {shape=[b, 8, 1]}
  %6 = rsqrt(%5)
  %7 = mul(%2, %6)
  %8 = reshape(%7) {shape=[b, 32, h, w]}
  %9 = mul(%8, scale)
  %10 = sigmoid(%9)
  %11 = mul(%9, %10)
  return %11
}
--------------------------------------------------------------------------------
graph group_norm(x: f32[b, 32, h, w], scale: f32[32, 1, 1]) -> f32[b, 32, h, w] {
  %0 = reshape(x) {shape=[b, 8, 4, h, w]} : f32[b, 8, 4, h, w]
  %1 = mean(%0) {axes=[2, 3, 4], keepdims=true} : f32[b, 8, 1, 1, 1]
  %2 = sub(%0, %1) : f32[b, 8, 4, h, w]
  %3 = mul(%2, %2) : f32[b, 8, 4, h, w]
  %4 = mean(%3) {axes=[2, 3, 4]} : f32[b, 8]
  %5 = reshape(%4) {shape=[b, 8, 1, 1, 1]} : f32[b, 8, 1, 1, 1]
  %6 = rsqrt(%5) : f32[b, 8, 1, 1, 1]
  %7 = mul(%2, %6) : f32[b, 8, 4, h, w]
  %8 = reshape(%7) {shape=[b, 32, h, w]} : f32[b, 32, h, w]
  %9 = mul(%8, scale) : f32[b, 32, h, w]
  %10 = sigmoid(%9) : f32[b, 32, h, w]
  %11 = mul(%9, %10) : f32[b, 32, h, w]
  return %11
}
--------------------------------------------------------------------------------
graph group_norm(x: f32[b, 32, h, w], scale: f32[32, 1, 1]) -> f32[b, 32, h, w] {
  %0 = reshape(x) {shape=[b, 8, 4, h, w]} : f32[b, 8, 4, h, w]
  %1 = reshape(scale) {shape=[1, 8, 4, 1, 1]} : f32[1, 8, 4, 1, 1]
  %2 = kernel(%0, %1)
    body(a0: f32[b, 8, 4, h, w], a1: f32[1, 8, 4, 1, 1]) -> f32[b, 8, 4, h, w] {
      %0 = mean(a0) {axes=[2, 3, 4], keepdims=true} : f32[b, 8, 1, 1, 1]
      %1 = sub(a0, %0) : f32[b, 8, 4, h, w]
      %2 = mul(%1, %1) : f32[b, 8, 4, h, w]
      %3 = mean(%2) {axes=[2, 3, 4]} : f32[b, 8]
      %4 = reshape(%3) {shape=[b, 8, 1, 1, 1]} : f32[b, 8, 1, 1, 1]
      %5 = rsqrt(%4) : f32[b, 8, 1, 1, 1]
      %6 = mul(%1, %5) : f32[b, 8, 4, h, w]
      %7 = mul(%6, a1) : f32[b, 8, 4, h, w]
      %8 = sigmoid(%7) : f32[b, 8, 4, h, w]
      %9 = mul(%7, %8) : f32[b, 8, 4, h, w]
      return %9
    } : f32[b, 8, 4, h, w]
  %3 = reshape(%2) {shape=[b, 32, h, w]} : f32[b, 32, h, w]
  return %3
}
