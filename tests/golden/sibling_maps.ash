# RUN: sibling-maps
axes { b: 1..64   n: 1..512 }
graph rotated(y: f32[b, n, 8, 8], w: f32[n, 1, 8]) -> (f32[b, 4, n, 8], f32[b, 2, n, 8]) {
  %0 = slice(y) {starts=[0, 0, 0, 0], stops=[b, n, 4, 8], steps=[1, 1, 1, 1]}
  %1 = slice(y) {starts=[0, 0, 4, 0], stops=[b, n, 6, 8], steps=[1, 1, 1, 1]}
  %2 = slice(y) {starts=[0, 0, 6, 0], stops=[b, n, 8, 8], steps=[1, 1, 1, 1]}
  %3 = mul(%0, w)
  %4 = mul(%1, w)
  %5 = transpose(%3) {perm=[0, 2, 1, 3]}
  %6 = transpose(%4) {perm=[0, 2, 1, 3]}
  %7 = transpose(%2) {perm=[0, 2, 1, 3]}
  %8 = attention(%5, %6, %7)
  %9 = exp(%7)
  return %8, %9
}
--------------------------------------------------------------------------------
axes { b: 1..64   n: 1..512 }
graph rotated(y: f32[b, n, 8, 8], w: f32[n, 1, 8]) -> (f32[b, 4, n, 8], f32[b, 2, n, 8]) {
  %0 = slice(y) {starts=[0, 0, 0, 0], stops=[b, n, 6, 8], steps=[1, 1, 1, 1]} : f32[b, n, 6, 8]
  %1 = mul(%0, w) : f32[b, n, 6, 8]
  %2 = transpose(%1) {perm=[0, 2, 1, 3]} : f32[b, 6, n, 8]
  %3 = slice(%2) {starts=[0, 0, 0, 0], stops=[b, 4, n, 8], steps=[1, 1, 1, 1]} : f32[b, 4, n, 8]
  %4 = slice(%2) {starts=[0, 4, 0, 0], stops=[b, 6, n, 8], steps=[1, 1, 1, 1]} : f32[b, 2, n, 8]
  %5 = slice(y) {starts=[0, 0, 6, 0], stops=[b, n, 8, 8], steps=[1, 1, 1, 1]} : f32[b, n, 2, 8]
  %6 = transpose(%5) {perm=[0, 2, 1, 3]} : f32[b, 2, n, 8]
  %7 = attention(%3, %4, %6) : f32[b, 4, n, 8]
  %8 = exp(%6) : f32[b, 2, n, 8]
  return %7, %8
}
