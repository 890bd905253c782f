# RUN: slices-last
axes { b: 1..64   n: 1..512 }
graph heads(x: f32[b, n, 96], y: f32[b, n, 3, 4, 8], z: f32[96]) -> (f32[b, n, 4, 8], f32[b, 4, n, 8], f32[b, n, 2, 16], f32[4, 8]) {
  %0 = slice(x) {starts=[0, 0, 32], stops=[b, n, 64], steps=[1, 1, 1]}
  %1 = reshape(%0) {shape=[b, n, 4, 8]}
  %2 = transpose(y) {perm=[2, 0, 3, 1, 4]}
  %3 = slice(%2) {starts=[1, 0, 0, 0, 0], stops=[2, b, 4, n, 8], steps=[1, 1, 1, 1, 1]}
  %4 = reshape(%3) {shape=[b, 4, n, 8]}
  %5 = slice(x) {starts=[0, 0, 8], stops=[b, n, 40], steps=[1, 1, 1]}
  %6 = reshape(%5) {shape=[b, n, 2, 16]}
  %7 = slice(z) {starts=[32], stops=[64], steps=[1]}
  %8 = reshape(%7) {shape=[4, 8]}
  return %1, %4, %6, %8
}
--------------------------------------------------------------------------------
axes { b: 1..64   n: 1..512 }
graph heads(x: f32[b, n, 96], y: f32[b, n, 3, 4, 8], z: f32[96]) -> (f32[b, n, 4, 8], f32[b, 4, n, 8], f32[b, n, 2, 16], f32[4, 8]) {
  %0 = reshape(x) {shape=[b, n, 12, 8]} : f32[b, n, 12, 8]
  %1 = slice(%0) {starts=[0, 0, 4, 0], stops=[b, n, 8, 8], steps=[1, 1, 1, 1]} : f32[b, n, 4, 8]
  %2 = reshape(y) {shape=[b, n, 12, 8]} : f32[b, n, 12, 8]
  %3 = slice(%2) {starts=[0, 0, 4, 0], stops=[b, n, 8, 8], steps=[1, 1, 1, 1]} : f32[b, n, 4, 8]
  %4 = transpose(%3) {perm=[0, 2, 1, 3]} : f32[b, 4, n, 8]
  %5 = slice(x) {starts=[0, 0, 8], stops=[b, n, 40], steps=[1, 1, 1]} : f32[b, n, 32]
  %6 = reshape(%5) {shape=[b, n, 2, 16]} : f32[b, n, 2, 16]
  %7 = slice(z) {starts=[32], stops=[64], steps=[1]} : f32[32]
  %8 = reshape(%7) {shape=[4, 8]} : f32[4, 8]
  return %1, %4, %6, %8
}
