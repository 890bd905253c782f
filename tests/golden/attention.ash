# RUN: canonicalize, attention
axes { b: 1..   s: 1..   t: 1.. }
graph masked(q: f32[b, 2, s, 3], k: f32[b, 2, t, 3], v: f32[b, 2, t, 5], mask: bool[s, t]) -> f32[b, 2, s, 5] {
  %0 = dot(q, k) {contract=([3], [3]), batch=([0, 1], [0, 1])}
  %1 = constant() {value=f32 0.5}
  %2 = mul(%0, %1)
  %3 = constant() {value=f32 -inf}
  %4 = select(mask, %2, %3)
  %5 = softmax(%4) {axis=3}
  %6 = dot(%5, v) {contract=([3], [2]), batch=([0, 1], [0, 1])}
  return %6
}
--------------------------------------------------------------------------------
axes { b: 1..   s: 1..   t: 1.. }
graph masked(q: f32[b, 2, s, 3], k: f32[b, 2, t, 3], v: f32[b, 2, t, 5], mask: bool[s, t]) -> f32[b, 2, s, 5] {
  %0 = attention(q, k, v, mask) {scale=0.5, unseen=nan} : f32[b, 2, s, 5]
  return %0
}
