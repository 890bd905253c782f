# RUN: print
graph first(count: i64[1], rows: i64[], x: f32[n, 8], y: i64[n]) -> (f32[k, 8], i64[k], f32[m]) {
  %0, %1 = prefix(count, x, y) late [k <= n]
  %2 = late_size(rows) late [m]
  %3 = constant() {value=f32 0.5}
  %4 = broadcast(%3) {shape=[m]}
  return %0, %1, %4
}
--------------------------------------------------------------------------------
graph first(count: i64[1], rows: i64[], x: f32[n, 8], y: i64[n]) -> (f32[k, 8], i64[k], f32[m]) {
  %0, %1 = prefix(count, x, y) late [k <= n] : (f32[k, 8], i64[k])
  %2 = late_size(rows) late [m] : bool[m, 0]
  %3 = constant() {value=f32 0.5} : f32[]
  %4 = broadcast(%3) {shape=[m]} : f32[m]
  return %0, %1, %4
}
