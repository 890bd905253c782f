# RUN: constants
graph weights(x: f32[n, 8]) -> (f32[n, 8], f32[n, 16]) {
  %0 = constant() {value=@w0 f32[8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1 = neg(%0)
  %2 = transpose(%1) {perm=[1, 0]}
  %3 = dot(x, %2) {contract=([1], [0])}
  %4 = constant() {value=@w1 f32[8, 16] sha256:22802d385e80d278067487007f235c0e53ac85f091deacb074f719fa26dfe8b0}
  %5 = dot(x, %4) {contract=([1], [0])}
  return %3, %5
}
--------------------------------------------------------------------------------
graph weights(x: f32[n, 8]) -> (f32[n, 8], f32[n, 16]) {
  %0 = constant() {value=@w2 f32[8, 8] sha256:f5b17c1f5a3c15df016b3e139da0bfc727fbdc974a4494a8f3aa2d82a0cfb822} : f32[8, 8]
  %1 = transpose(%0) {perm=[1, 0]} : f32[8, 8]
  %2 = dot(x, %1) {contract=([1], [0])} : f32[n, 8]
  %3 = constant() {value=@w1 f32[8, 16] sha256:22802d385e80d278067487007f235c0e53ac85f091deacb074f719fa26dfe8b0} : f32[8, 16]
  %4 = dot(x, %3) {contract=([1], [0])} : f32[n, 16]
  return %2, %4
}
