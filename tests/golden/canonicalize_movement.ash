# RUN: canonicalize
graph moves(x: f32[n, 4, m]) -> (f32[m, n, 4], f32[4*n*m], f32[4*n, m], f32[n, 4, m]) {
  %0 = transpose(x) {perm=[1, 2, 0]}
  %1 = transpose(%0) {perm=[1, 2, 0]}
  %2 = reshape(x) {shape=[4*n, m]}
  %3 = reshape(%2) {shape=[4*n*m]}
  %4 = concat(%2) {axis=0}
  %5 = broadcast(%4) {shape=[4*n, m]}
  %6 = reverse(x) {axes=[0, 2]}
  %7 = reverse(%6) {axes=[2, 0]}
  return %1, %3, %5, %7
}
--------------------------------------------------------------------------------
graph moves(x: f32[n, 4, m]) -> (f32[m, n, 4], f32[4*m*n], f32[4*n, m], f32[n, 4, m]) {
  %0 = transpose(x) {perm=[2, 0, 1]} : f32[m, n, 4]
  %1 = reshape(x) {shape=[4*m*n]} : f32[4*m*n]
  %2 = reshape(x) {shape=[4*n, m]} : f32[4*n, m]
  return %0, %1, %2, x
}
