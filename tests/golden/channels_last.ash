# RUN: channels-last, dce
graph block(x: f32[n, 8, h, w], w: f32[1, 3, 3, 8, 8], s: f32[8, 1, 1], e: f32[n, 8, 1, 1]) -> (f32[n, 8, h, w], f32[n, 16], f32[n, 8, h, w]) {
  %0 = transpose(x) {perm=[0, 2, 3, 1]}
  %1 = conv(%0, w) {strides=[1, 1], dilations=[1, 1], low=[1, 1], high=[1, 1]}
  %2 = transpose(%1) {perm=[0, 3, 1, 2]}
  %3 = mul(%2, s)
  %4 = mul(%3, e)
  %5 = add(%4, x)
  %6 = transpose(%5) {perm=[0, 2, 3, 1]}
  %7 = conv(%6, w) {strides=[1, 1], dilations=[1, 1], low=[1, 1], high=[1, 1]}
  %8 = transpose(%7) {perm=[0, 3, 1, 2]}
  %9 = concat(%8, %5) {axis=1}
  %10 = mean(%9) {axes=[2, 3], keepdims=false}
  %11 = neg(x)
  return %8, %10, %11
}
--------------------------------------------------------------------------------
facts {
  2 < h + 2  # op: conv: the kernel reaches over 3 places, and the input has h + 2 @ <text>:3
  2 < w + 2  # op: conv: the kernel reaches over 3 places, and the input has w + 2 @ <text>:3
}
graph block(x: f32[n, 8, h, w], w: f32[1, 3, 3, 8, 8], s: f32[8, 1, 1], e: f32[n, 8, 1, 1]) -> (f32[n, 8, h, w], f32[n, 16], f32[n, 8, h, w]) {
  %0 = transpose(x) {perm=[0, 2, 3, 1]} : f32[n, h, w, 8]
  %1 = conv(%0, w) {strides=[1, 1], dilations=[1, 1], low=[1, 1], high=[1, 1]} : f32[n, h, w, 8]
  %2 = reshape(s) {shape=[8]} : f32[8]
  %3 = mul(%1, %2) : f32[n, h, w, 8]
  %4 = reshape(e) {shape=[n, 1, 1, 8]} : f32[n, 1, 1, 8]
  %5 = mul(%3, %4) : f32[n, h, w, 8]
  %6 = add(%5, %0) : f32[n, h, w, 8]
  %7 = conv(%6, w) {strides=[1, 1], dilations=[1, 1], low=[1, 1], high=[1, 1]} : f32[n, h, w, 8]
  %8 = transpose(%7) {perm=[0, 3, 1, 2]} : f32[n, 8, h, w]
  %9 = concat(%7, %6) {axis=3} : f32[n, h, w, 16]
  %10 = mean(%9) {axes=[1, 2]} : f32[n, 16]
  %11 = neg(x) : f32[n, 8, h, w]
  return %8, %10, %11
}
