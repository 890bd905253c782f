# RUN: few-parts
axes { n: 1..64 }
graph model(x: f32[n, 2], y: f32[3, 2]) -> f32[10*n + 9, 2] {
  %0 = concat(x, y, x, x, x, x, y, x, x, x, y, x, x) {axis=0}
  return %0
}
--------------------------------------------------------------------------------
axes { n: 1..64 }
graph model(x: f32[n, 2], y: f32[3, 2]) -> f32[10*n + 9, 2] {
  %0 = concat(x, y, x, x) {axis=0} : f32[3*n + 3, 2]
  %1 = concat(x, x, y, x) {axis=0} : f32[3*n + 3, 2]
  %2 = concat(%0, %1, %1, x) {axis=0} : f32[10*n + 9, 2]
  return %2
}
