# RUN: refine-regions
axes { a: 2..   b: 0.. }
graph f(p: bool[], x: f32[a, b], y: f32[10]) -> f32[b] {
  %0 = cond(p, x, y)
    then(a0: f32[a, b], a1: f32[10]) -> f32[b] {
      facts {
        broadcastable(a, 10)  # op: add: operands must broadcast at axis 0
      }
      %0 = exp(a0) : f32[a, b]
      %1 = reshape(a1) {shape=[10, 1]} : f32[10, 1]
      %2 = add(%0, %1) : f32[10, b]
      %3 = sum(%2) {axes=[0]} : f32[b]
      return %3
    }
    else(a0: f32[a, b], a1: f32[10]) -> f32[b] {
      %0 = sum(a0) {axes=[0]} : f32[b]
      return %0
    } : f32[b]
  return %0
}
--------------------------------------------------------------------------------
axes { a: 2..   b: 0.. }
graph f(p: bool[], x: f32[a, b], y: f32[10]) -> f32[b] {
  %0 = cond(p, x, y)
    then(a0: f32[a, b], a1: f32[10]) -> f32[b] {
      facts {
        broadcastable(a, 10)  # op: add: operands must broadcast at axis 0
      }
      %0 = reshape(a0) {shape=[10, b]} : f32[10, b]
      %1 = exp(%0) : f32[10, b]
      %2 = reshape(a1) {shape=[10, 1]} : f32[10, 1]
      %3 = add(%1, %2) : f32[10, b]
      %4 = sum(%3) {axes=[0]} : f32[b]
      return %4
    }
    else(a0: f32[a, b], a1: f32[10]) -> f32[b] {
      %0 = sum(a0) {axes=[0]} : f32[b]
      return %0
    } : f32[b]
  return %0
}
