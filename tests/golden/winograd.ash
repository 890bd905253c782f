# RUN: winograd
graph convolutions(x: f32[n, h + 2, w + 2, 32], taps: f32[1, 3, 3, 32, 32]) -> (f32[n, h, w, 32], f32[n, h, w, 32], f32[n, (h + 1)//2, w, 32]) {
  %0 = constant() {value=f32 0.5}
  %1 = broadcast(%0) {shape=[1, 3, 3, 32, 32]}
  %2 = conv(x, %1) {strides=[1, 1], dilations=[1, 1], low=[0, 0], high=[0, 0]}
  %3 = conv(x, taps) {strides=[1, 1], dilations=[1, 1], low=[0, 0], high=[0, 0]}
  %4 = conv(x, %1) {strides=[2, 1], dilations=[1, 1], low=[0, 0], high=[0, 0]}
  return %2, %3, %4
}
--------------------------------------------------------------------------------
facts {
  2 < h + 2  # op: conv: the kernel reaches over 3 places, and the input has h + 2 @ <text>:4
  2 < w + 2  # op: conv: the kernel reaches over 3 places, and the input has w + 2 @ <text>:4
}
graph convolutions(x: f32[n, h + 2, w + 2, 32], taps: f32[1, 3, 3, 32, 32]) -> (f32[n, h, w, 32], f32[n, h, w, 32], f32[n, (h + 1)//2, w, 32]) {
  %0 = constant() {value=f32 0.5} : f32[]
  %1 = broadcast(%0) {shape=[1, 3, 3, 32, 32]} : f32[1, 3, 3, 32, 32]
  %2 = constant() {value=@w2 f32[36, 32, 32] sha256:fe7ce3bb7d07b6fef6aba9123ab7b0fe88d80abc102c3f5ef5f00dff5e075176} : f32[36, 32, 32]
  %3 = winograd(x, %1, %2) {low=[0, 0], high=[0, 0], tile=4} : f32[n, h, w, 32]
  %4 = conv(x, taps) {strides=[1, 1], dilations=[1, 1], low=[0, 0], high=[0, 0]} : f32[n, h, w, 32]
  %5 = conv(x, %1) {strides=[2, 1], dilations=[1, 1], low=[0, 0], high=[0, 0]} : f32[n, (h + 1)//2, w, 32]
  return %3, %4, %5
}
