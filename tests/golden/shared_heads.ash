# RUN: shared-heads
axes { batch: 1..64   seq: 1..512 }
graph model(q: f32[batch, 8, seq, 4], k: f32[batch, 2, seq, 4], v: f32[batch, 2, seq, 4]) -> f32[batch, 8, seq, 4] {
  %0 = reshape(k) {shape=[batch, 2, 1, seq, 4]}
  %1 = broadcast(%0) {shape=[batch, 2, 4, seq, 4]}
  %2 = reshape(%1) {shape=[batch, 8, seq, 4]}
  %3 = reshape(v) {shape=[batch, 2, 1, seq, 4]}
  %4 = broadcast(%3) {shape=[batch, 2, 4, seq, 4]}
  %5 = reshape(%4) {shape=[batch, 8, seq, 4]}
  %6 = attention(q, %2, %5) {causal=top_left}
  return %6
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512 }
graph model(q: f32[batch, 8, seq, 4], k: f32[batch, 2, seq, 4], v: f32[batch, 2, seq, 4]) -> f32[batch, 8, seq, 4] {
  %0 = attention(q, k, v) {causal=top_left} : f32[batch, 8, seq, 4]
  return %0
}
