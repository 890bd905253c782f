# RUN: known-positions, canonicalize, dce
axes { b: 1..   n: 1.. }
graph packed(x: f32[b, n]) -> f32[b, n] {
  %0 = iota() {shape=[b, n], axis=1, dtype=i64} : i64[b, n]
  %1 = slice(%0) {starts=[0, 0], stops=[b, 1], steps=[1, 1]} : i64[b, 1]
  %2 = constant() {value=i64 1} : i64[]
  %3 = sub(%1, %2) : i64[b, 1]
  %4 = concat(%3, %0) {axis=1} : i64[b, n + 1]
  %5 = slice(%4) {starts=[0, 1], stops=[b, n + 1], steps=[1, 1]} : i64[b, n]
  %6 = slice(%4) {starts=[0, 0], stops=[b, n], steps=[1, 1]} : i64[b, n]
  %7 = sub(%5, %6) : i64[b, n]
  %8 = ne(%7, %2) : bool[b, n]
  %9 = constant() {value=f32 0.0} : f32[]
  %10 = select(%8, %9, x) : f32[b, n]
  return %10
}
--------------------------------------------------------------------------------
axes { b: 1..   n: 1.. }
graph packed(x: f32[b, n]) -> f32[b, n] {
  return x
}
