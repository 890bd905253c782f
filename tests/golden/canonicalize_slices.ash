# RUN: canonicalize
axes { seq: 1..512 }
graph positions(x: f32[seq, 8], table: f32[512, 8]) -> (f32[seq, 8], f32[seq, 4], f32[4]) {
  %0 = slice(x) {starts=[0, 0], stops=[min(seq, 512), 8], steps=[1, 1]}
  %1 = slice(table) {starts=[0, 2], stops=[seq, 8], steps=[1, 1]}
  %2 = slice(%1) {starts=[0, 0], stops=[seq, 4], steps=[1, 1]}
  %3 = slice(%2) {starts=[seq - 1, 0], stops=[seq, 4], steps=[1, 1]}
  %4 = reshape(%3) {shape=[4]}
  return %0, %2, %4
}
--------------------------------------------------------------------------------
axes { seq: 1..512 }
graph positions(x: f32[seq, 8], table: f32[512, 8]) -> (f32[seq, 8], f32[seq, 4], f32[4]) {
  %0 = slice(table) {starts=[0, 2], stops=[seq, 6], steps=[1, 1]} : f32[seq, 4]
  %1 = slice(table) {starts=[seq - 1, 2], stops=[seq, 6], steps=[1, 1]} : f32[1, 4]
  %2 = reshape(%1) {shape=[4]} : f32[4]
  return x, %0, %2
}
