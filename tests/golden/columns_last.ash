# RUN: columns-last
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[seq, batch, 8], y: f32[8, batch, seq]) -> f32[seq, seq] {
  %0 = dot(x, y) {contract=([1, 2], [1, 0])}
  return %0
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[seq, batch, 8], y: f32[8, batch, seq]) -> f32[seq, seq] {
  %0 = transpose(y) {perm=[1, 0, 2]} : f32[batch, 8, seq]
  %1 = dot(x, %0) {contract=([1, 2], [0, 1])} : f32[seq, seq]
  return %1
}
