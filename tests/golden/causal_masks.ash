# RUN: causal-masks
axes { batch: 1..64   seq: 1..512 }
graph model(q: f32[batch, 2, seq, 4], k: f32[batch, 2, seq, 4], padding: bool[batch, 1, 1, seq]) -> f32[batch, 2, seq, 4] {
  %0 = iota() {axis=0, shape=[seq], dtype=i64}
  %1 = reshape(%0) {shape=[seq, 1]}
  %2 = le(%0, %1)
  %3 = logical_and(%2, padding)
  %4 = attention(q, k, k, %3)
  return %4
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512 }
graph model(q: f32[batch, 2, seq, 4], k: f32[batch, 2, seq, 4], padding: bool[batch, 1, 1, seq]) -> f32[batch, 2, seq, 4] {
  %0 = attention(q, k, k, padding) {causal=top_left} : f32[batch, 2, seq, 4]
  return %0
}
