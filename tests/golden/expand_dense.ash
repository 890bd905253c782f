# RUN: expand
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[batch, seq, 8], w: f32[8, 16], bias: f32[16]) -> f32[batch, seq, 16] {
  %0 = dense(x, w, bias)
  %1 = softmax(%0) {axis=2}
  return %1
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[batch, seq, 8], w: f32[8, 16], bias: f32[16]) -> f32[batch, seq, 16] {
  %0 = dot(x, w) {contract=([2], [0])} : f32[batch, seq, 16]
  %1 = add(%0, bias) : f32[batch, seq, 16]
  %2 = softmax(%1) {axis=2} : f32[batch, seq, 16]
  return %2
}
