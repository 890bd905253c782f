# RUN: canonicalize
graph sizes(x: f32[batch, 3, 2*seq], y: f32[4, 5]) -> (i64[3], i64[2], i64[], i64[]) {
  %0 = shape_of(x)
  %1 = shape_of(y)
  %2 = dim_of(x) {axis=2}
  %3 = constant() {value=i64 2}
  %4 = floordiv(%2, %3)
  %5 = dim_of(y) {axis=0}
  return %0, %1, %4, %5
}
--------------------------------------------------------------------------------
graph sizes(x: f32[batch, 3, 2*seq], y: f32[4, 5]) -> (i64[3], i64[2], i64[], i64[]) {
  %0 = dim_value() {value=batch} : i64[]
  %1 = reshape(%0) {shape=[1]} : i64[1]
  %2 = constant() {value=i64 3} : i64[]
  %3 = reshape(%2) {shape=[1]} : i64[1]
  %4 = dim_value() {value=2*seq} : i64[]
  %5 = reshape(%4) {shape=[1]} : i64[1]
  %6 = concat(%1, %3, %5) {axis=0} : i64[3]
  %7 = constant() {value=i64[2] [4, 5]} : i64[2]
  %8 = dim_value() {value=seq} : i64[]
  %9 = constant() {value=i64 4} : i64[]
  return %6, %7, %8, %9
}
