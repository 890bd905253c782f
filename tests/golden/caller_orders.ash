# RUN: lying x, lying y, caller-orders
graph block(x: f32[n, 8, h, w], y: f32[n, 8, h, w], w: f32[1, 3, 3, 8, 8]) -> (f32[n, h, w, 8], f32[n, 8, h, w]) {
  %0 = transpose(x) {perm=[0, 2, 3, 1]}
  %1 = conv(%0, w) {strides=[1, 1], dilations=[1, 1], low=[1, 1], high=[1, 1]}
  %2 = transpose(y) {perm=[0, 2, 3, 1]}
  %3 = add(%1, %2)
  %4 = exp(y)
  return %3, %4
}
--------------------------------------------------------------------------------
facts {
  2 < h + 2  # op: conv: the kernel reaches over 3 places, and the input has h + 2 @ <text>:3
  2 < w + 2  # op: conv: the kernel reaches over 3 places, and the input has w + 2 @ <text>:3
}
graph block(x: f32[n, h, w, 8], y: f32[n, 8, h, w], w: f32[1, 3, 3, 8, 8]) -> (f32[n, h, w, 8], f32[n, 8, h, w]) {
  %0 = conv(x, w) {strides=[1, 1], dilations=[1, 1], low=[1, 1], high=[1, 1]} : f32[n, h, w, 8]
  %1 = transpose(y) {perm=[0, 2, 3, 1]} : f32[n, h, w, 8]
  %2 = add(%0, %1) : f32[n, h, w, 8]
  %3 = exp(y) : f32[n, 8, h, w]
  return %2, %3
}
