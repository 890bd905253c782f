# RUN: print
axes { batch: 1..64   seq: 1..512 multiple_of 8 likely [128, 256] }
graph attention(q: f32[batch, 12, seq, 64], k: f32[batch, 12, seq, 64], v: f32[batch, 12, seq, 64]) -> f32[batch, seq, 768] {
  %0 = dot(q, k) {contract=([3], [3]), batch=([0, 1], [0, 1])}
  %1 = constant() {value=f32 0.125}
  %2 = mul(%0, %1)
  %3 = max(%2) {axes=[3], keepdims=true}
  %4 = sub(%2, %3)
  %5 = exp(%4)
  %6 = sum(%5) {axes=[3], keepdims=true}
  %7 = div(%5, %6)
  %8 = dot(%7, v) {contract=([3], [2]), batch=([0, 1], [0, 1])}
  %9 = transpose(%8) {perm=[0, 2, 1, 3]}
  %10 = reshape(%9) {shape=[batch, seq, 768]}
  return %10
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512 multiple_of 8 likely [128, 256] }
graph attention(q: f32[batch, 12, seq, 64], k: f32[batch, 12, seq, 64], v: f32[batch, 12, seq, 64]) -> f32[batch, seq, 768] {
  %0 = dot(q, k) {contract=([3], [3]), batch=([0, 1], [0, 1])} : f32[batch, 12, seq, seq]
  %1 = constant() {value=f32 0.125} : f32[]
  %2 = mul(%0, %1) : f32[batch, 12, seq, seq]
  %3 = max(%2) {axes=[3], keepdims=true} : f32[batch, 12, seq, 1]
  %4 = sub(%2, %3) : f32[batch, 12, seq, seq]
  %5 = exp(%4) : f32[batch, 12, seq, seq]
  %6 = sum(%5) {axes=[3], keepdims=true} : f32[batch, 12, seq, 1]
  %7 = div(%5, %6) : f32[batch, 12, seq, seq]
  %8 = dot(%7, v) {contract=([3], [2]), batch=([0, 1], [0, 1])} : f32[batch, 12, seq, 64]
  %9 = transpose(%8) {perm=[0, 2, 1, 3]} : f32[batch, seq, 12, 64]
  %10 = reshape(%9) {shape=[batch, seq, 768]} : f32[batch, seq, 768]
  return %10
}
