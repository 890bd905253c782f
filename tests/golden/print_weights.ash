# RUN: print
graph mlp(x: f32[batch, 8]) -> f32[batch, 16] {
  %0 = constant() {value=@w0 f32[8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1 = constant() {value=@w1 f32[8, 16] sha256:22802d385e80d278067487007f235c0e53ac85f091deacb074f719fa26dfe8b0}
  %2 = constant() {value=f32[8] [0.5, -0.0, nan, inf, -inf, 1e-08, 3.0, 0.1]}
  %3 = dot(x, %0) {contract=([1], [0])}
  %4 = add(%3, %2)
  %5 = dot(%4, %1) {contract=([1], [0])}
  return %5
}
--------------------------------------------------------------------------------
graph mlp(x: f32[batch, 8]) -> f32[batch, 16] {
  %0 = constant() {value=@w0 f32[8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4} : f32[8, 8]
  %1 = dot(x, %0) {contract=([1], [0])} : f32[batch, 8]
  %2 = constant() {value=f32[8] [0.5, -0.0, nan, inf, -inf, 1e-08, 3.0, 0.1]} : f32[8]
  %3 = add(%1, %2) : f32[batch, 8]
  %4 = constant() {value=@w1 f32[8, 16] sha256:22802d385e80d278067487007f235c0e53ac85f091deacb074f719fa26dfe8b0} : f32[8, 16]
  %5 = dot(%3, %4) {contract=([1], [0])} : f32[batch, 16]
  return %5
}
