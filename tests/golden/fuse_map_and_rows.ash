# RUN: fuse
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[batch, seq, 8], w: f32[8, 16], index: i64[seq]) -> (f32[batch, seq, 16], f32[batch, seq, 16]) {
  %0 = mul(x, x)
  %1 = softmax(%0) {axis=2}
  %2 = dot(%1, w) {contract=([2], [0])}
  %3 = tanh(%2)
  %4 = gather(%3, index) {axis=1}
  return %3, %4
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[batch, seq, 8], w: f32[8, 16], index: i64[seq]) -> (f32[batch, seq, 16], f32[batch, seq, 16]) {
  %0 = kernel(x)
    body(a0: f32[batch, seq, 8]) -> f32[batch, seq, 8] {
      %0 = mul(a0, a0) : f32[batch, seq, 8]
      %1 = softmax(%0) {axis=2} : f32[batch, seq, 8]
      return %1
    } : f32[batch, seq, 8]
  %1 = kernel(%0, w)
    body(a0: f32[batch, seq, 8], a1: f32[8, 16]) -> f32[batch, seq, 16] {
      %0 = dot(a0, a1) {contract=([2], [0])} : f32[batch, seq, 16]
      %1 = tanh(%0) : f32[batch, seq, 16]
      return %1
    } : f32[batch, seq, 16]
  %2 = kernel(%1, index)
    body(a0: f32[batch, seq, 16], a1: i64[seq]) -> f32[batch, seq, 16] {
      %0 = gather(a0, a1) {axis=1} : f32[batch, seq, 16]
      return %0
    } : f32[batch, seq, 16]
  return %1, %2
}
