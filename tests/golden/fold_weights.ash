# RUN: fold, dce
graph tied(x: f32[n, 8]) -> (f32[n, 8], f32[n, 8], f32[n, 16], f32[8], f32[8]) {
  %0 = constant() {value=@w0 f32[8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1 = transpose(%0) {perm=[1, 0]}
  %2 = dot(x, %1) {contract=([1], [0])}
  %8 = dot(x, %0) {contract=([1], [0])}
  %3 = slice(%0) {starts=[0, 0], stops=[1, 8], steps=[1, 1]}
  %4 = reshape(%3) {shape=[8]}
  %5 = constant() {value=@w1 f32[8, 16] sha256:22802d385e80d278067487007f235c0e53ac85f091deacb074f719fa26dfe8b0}
  %6 = neg(%5)
  %7 = dot(x, %6) {contract=([1], [0])}
  %9 = slice(%5) {starts=[0, 0], stops=[1, 8], steps=[1, 1]}
  %10 = reshape(%9) {shape=[8]}
  return %2, %8, %7, %4, %10
}
--------------------------------------------------------------------------------
graph tied(x: f32[n, 8]) -> (f32[n, 8], f32[n, 8], f32[n, 16], f32[8], f32[8]) {
  %0 = constant() {value=@w0 f32[8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4} : f32[8, 8]
  %1 = transpose(%0) {perm=[1, 0]} : f32[8, 8]
  %2 = dot(x, %1) {contract=([1], [0])} : f32[n, 8]
  %3 = dot(x, %0) {contract=([1], [0])} : f32[n, 8]
  %4 = constant() {value=@w2 f32[8, 16] sha256:e52c64fbfe05fe8892e5886aed8344dca0650723ef2f6ce2d0c5f7258c5e505f} : f32[8, 16]
  %5 = dot(x, %4) {contract=([1], [0])} : f32[n, 16]
  %6 = constant() {value=f32[8] [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]} : f32[8]
  %7 = constant() {value=f32[8] [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]} : f32[8]
  return %2, %3, %5, %6, %7
}
