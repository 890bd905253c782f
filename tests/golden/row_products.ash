# RUN: row-products
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[batch, seq, 8], w: f32[8, 16], bias: f32[16]) -> f32[batch, seq, 16] {
  %0 = reshape(x) {shape=[batch*seq, 8]}
  %1 = dot(%0, w) {contract=([1], [0])}
  %2 = add(%1, bias)
  %3 = reshape(%2) {shape=[batch, seq, 16]}
  %4 = tanh(%3)
  return %4
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[batch, seq, 8], w: f32[8, 16], bias: f32[16]) -> f32[batch, seq, 16] {
  %0 = dot(x, w) {contract=([2], [0])} : f32[batch, seq, 16]
  %1 = add(%0, bias) : f32[batch, seq, 16]
  %2 = tanh(%1) : f32[batch, seq, 16]
  return %2
}
