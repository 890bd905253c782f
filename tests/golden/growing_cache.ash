# RUN: donate past, growing-axes-first, append
axes { batch: 1..64   seq: 1..512   past: 0..512 }
graph model(x: f32[batch, 2, seq, 4], past: f32[batch, 2, past, 4]) -> (f32[batch, 2, past + seq, 4], f32[batch, 2, past + seq, 4]) {
  %0 = tanh(x)
  %1 = concat(past, %0) {axis=2}
  %2 = exp(%1)
  return %1, %2
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512   past: 0..512 }
graph model(x: f32[batch, 2, seq, 4], past: f32[past, batch, 2, 4]) -> (f32[past + seq, batch, 2, 4], f32[batch, 2, past + seq, 4]) {
  %0 = tanh(x) : f32[batch, 2, seq, 4]
  %1 = transpose(%0) {perm=[2, 0, 1, 3]} : f32[seq, batch, 2, 4]
  %2 = append(past, %1) : f32[past + seq, batch, 2, 4]
  %3 = transpose(%2) {perm=[1, 2, 0, 3]} : f32[batch, 2, past + seq, 4]
  %4 = exp(%3) : f32[batch, 2, past + seq, 4]
  return %2, %4
}
