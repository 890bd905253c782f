# RUN: convolution-weights, dce
graph norms(x: f32[n, h, w, 8]) -> (f32[n, h, w, 8], f32[n, h, w, 8]) {
  %0 = constant() {value=@w0 f32[1, 3, 3, 8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1 = constant() {value=@w1 f32[8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %2 = constant() {value=@w2 f32[8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %3 = conv(x, %0) {strides=[1, 1], dilations=[1, 1], low=[1, 1], high=[1, 1]}
  %4 = add(%3, %1)
  %5 = mul(%4, %2)
  %6 = constant() {value=@w3 f32[1, 1, 1, 8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %7 = conv(x, %6) {strides=[1, 1], dilations=[1, 1], low=[0, 0], high=[0, 0]}
  %8 = mul(%2, %7)
  return %5, %8
}
--------------------------------------------------------------------------------
facts {
  2 < h + 2  # op: conv: the kernel reaches over 3 places, and the input has h + 2 @ <text>:5
  2 < w + 2  # op: conv: the kernel reaches over 3 places, and the input has w + 2 @ <text>:5
}
graph norms(x: f32[n, h, w, 8]) -> (f32[n, h, w, 8], f32[n, h, w, 8]) {
  %0 = constant() {value=@w0 f32[1, 3, 3, 8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4} : f32[1, 3, 3, 8, 8]
  %1 = constant() {value=@w1 f32[8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4} : f32[8]
  %2 = reshape(%1) {shape=[1, 1, 1, 1, 8]} : f32[1, 1, 1, 1, 8]
  %3 = mul(%0, %2) : f32[1, 3, 3, 8, 8]
  %4 = conv(x, %3) {strides=[1, 1], dilations=[1, 1], low=[1, 1], high=[1, 1]} : f32[n, h, w, 8]
  %5 = mul(%1, %1) : f32[8]
  %6 = add(%4, %5) : f32[n, h, w, 8]
  %7 = constant() {value=@w3 f32[1, 1, 1, 8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4} : f32[1, 1, 1, 8, 8]
  %8 = mul(%7, %2) : f32[1, 1, 1, 8, 8]
  %9 = reshape(%8) {shape=[8, 8]} : f32[8, 8]
  %10 = dot(x, %9) {contract=([3], [0])} : f32[n, h, w, 8]
  return %6, %10
}
