# RUN: single-kernels, own-results
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[batch, seq]) -> (f32[batch, seq], f32[batch*seq], f32[seq, batch]) {
  %0 = reshape(x) {shape=[batch*seq]}
  %1 = transpose(x) {perm=[1, 0]}
  %2 = reshape(%1) {shape=[seq, batch]}
  return x, %0, %2
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[batch, seq]) -> (f32[batch, seq], f32[batch*seq], f32[seq, batch]) {
  %0 = kernel(x)
    body(a0: f32[batch, seq]) -> f32[batch, seq] {
      return a0
    } : f32[batch, seq]
  %1 = reshape(x) {shape=[batch*seq]} : f32[batch*seq]
  %2 = kernel(%1)
    body(a0: f32[batch*seq]) -> f32[batch*seq] {
      return a0
    } : f32[batch*seq]
  %3 = kernel(x)
    body(a0: f32[batch, seq]) -> f32[seq, batch] {
      %0 = transpose(a0) {perm=[1, 0]} : f32[seq, batch]
      %1 = reshape(%0) {shape=[seq, batch]} : f32[seq, batch]
      return %1
    } : f32[seq, batch]
  return %0, %2, %3
}
