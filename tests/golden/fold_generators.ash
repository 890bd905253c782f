# RUN: fold
graph table(x: f32[64, 4], y: f32[100]) -> (f32[64, 4], f32[100]) {
  %0 = iota() {shape=[64], axis=0, dtype=f32}
  %1 = constant() {value=f32[4] [1, 0.1, 0.01, 0.001]}
  %2 = reshape(%0) {shape=[64, 1]}
  %3 = mul(%2, %1)
  %4 = floor(%3)
  %5 = add(x, %4)
  %6 = constant() {value=f32[1] [2]}
  %7 = neg(%6)
  %8 = broadcast(%7) {shape=[100]}
  %9 = mul(y, %8)
  return %5, %9
}
--------------------------------------------------------------------------------
graph table(x: f32[64, 4], y: f32[100]) -> (f32[64, 4], f32[100]) {
  %0 = constant() {value=@w2 f32[64, 4] sha256:3c59f2a1df1da84c27e577acea8c31d3232af10eab5b847e7087c2b89206550e} : f32[64, 4]
  %1 = add(x, %0) : f32[64, 4]
  %2 = constant() {value=f32[1] [-2.0]} : f32[1]
  %3 = broadcast(%2) {shape=[100]} : f32[100]
  %4 = mul(y, %3) : f32[100]
  return %1, %4
}
