# RUN: fold
graph constants(x: f32[n, 3]) -> f32[n, 3] {
  %0 = constant() {value=f32[3] [1, 2, 3]}
  %1 = mul(%0, %0)
  %2 = constant() {value=f32 0.5}
  %3 = mul(%1, %2)
  %4 = add(x, %3)
  return %4
}
--------------------------------------------------------------------------------
graph constants(x: f32[n, 3]) -> f32[n, 3] {
  %0 = constant() {value=f32[3] [0.5, 2.0, 4.5]} : f32[3]
  %1 = add(x, %0) : f32[n, 3]
  return %1
}
