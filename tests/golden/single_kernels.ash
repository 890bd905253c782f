# RUN: single-kernels
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[batch, seq], y: f32[seq]) -> f32[batch, seq] {
  %0 = add(x, y)
  %1 = softmax(%0) {axis=1}
  return %1
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[batch, seq], y: f32[seq]) -> f32[batch, seq] {
  %0 = kernel(x, y)
    body(a0: f32[batch, seq], a1: f32[seq]) -> f32[batch, seq] {
      %0 = add(a0, a1) : f32[batch, seq]
      return %0
    } : f32[batch, seq]
  %1 = kernel(%0)
    body(a0: f32[batch, seq]) -> f32[batch, seq] {
      %0 = softmax(a0) {axis=1} : f32[batch, seq]
      return %0
    } : f32[batch, seq]
  return %1
}
