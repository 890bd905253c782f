# RUN: late-sizes
graph chosen(x: f32[n], y: f32[n, 4]) -> (i64[k, 1], f32[m, 4], f32[j]) {
  %0 = exp(x)
  %1 = nonzero(%0) late [k <= n]
  %2 = constant() {value=f32 0.5}
  %3 = gt(x, %2)
  %4 = compress(%3, y) late [m <= n]
  %5 = max(y) {axes=[1]}
  %6 = compress(%3, %5) late [j <= n]
  return %1, %4, %6
}
--------------------------------------------------------------------------------
graph chosen(x: f32[n], y: f32[n, 4]) -> (i64[k, 1], f32[m, 4], f32[j]) {
  %0 = exp(x) : f32[n]
  %1 = part_counts(%0) {parts=min(n//32768, max(n//16777216, 32)), length=(n - 1)//max(min(n//32768, max(n//16777216, 32)), 1) + 1} : i64[min(n//32768, max(n//16777216, 32))]
  %2, %3 = compact_places(%0, %1) {parts=min(n//32768, max(n//16777216, 32)), length=(n - 1)//max(min(n//32768, max(n//16777216, 32)), 1) + 1} : (i64[n, 1], i64[1])
  %4 = prefix(%3, %2) late [k <= n] : i64[k, 1]
  %5 = constant() {value=f32 0.5} : f32[]
  %6 = gt(x, %5) : bool[n]
  %7 = part_counts(%6) {parts=min(n//32768, max(n//16777216, 32)), length=(n - 1)//max(min(n//32768, max(n//16777216, 32)), 1) + 1} : i64[min(n//32768, max(n//16777216, 32))]
  %8, %9 = compact_rows(%6, y, %7) {parts=min(n//32768, max(n//16777216, 32)), length=(n - 1)//max(min(n//32768, max(n//16777216, 32)), 1) + 1} : (f32[n, 4], i64[1])
  %10 = prefix(%9, %8) late [m <= n] : f32[m, 4]
  %11 = max(y) {axes=[1]} : f32[n]
  %12, %13 = compact_rows(%6, %11, %7) {parts=min(n//32768, max(n//16777216, 32)), length=(n - 1)//max(min(n//32768, max(n//16777216, 32)), 1) + 1} : (f32[n], i64[1])
  %14 = prefix(%13, %12) late [j <= n] : f32[j]
  return %4, %10, %14
}
