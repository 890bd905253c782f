# RUN: canonicalize, known-indices, expert-loops, dce
axes { t: 0.. }
graph experts(x: f32[t, 4], w: f32[2, 4, 4], route: i64[t]) -> f32[t, 4] {
  %0 = constant() {value=f32 0.0} : f32[]
  %1 = broadcast(%0) {shape=[t, 4]} : f32[t, 4]
  %2 = constant() {value=i64 0} : i64[]
  %3 = eq(route, %2) : bool[t]
  %4 = nonzero(%3) late [?0 <= t] : i64[?0, 1]
  %5 = reshape(%4) {shape=[?0]} : i64[?0]
  %6 = lt(%5, %2) : bool[?0]
  %7 = dim_value() {value=t} : i64[]
  %8 = add(%5, %7) : i64[?0]
  %9 = select(%6, %8, %5) : i64[?0]
  %10 = gather(x, %9) {axis=0} : f32[?0, 4]
  %11 = constant() {value=f32[4, 4] [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]} : f32[4, 4]
  %12 = dot(%10, %11) {contract=([1], [0])} : f32[?0, 4]
  %13 = scatter(%1, %5, %12) {axis=0, combine=add} : f32[t, 4]
  %14 = constant() {value=i64 1} : i64[]
  %15 = eq(route, %14) : bool[t]
  %16 = nonzero(%15) late [?1 <= t] : i64[?1, 1]
  %17 = reshape(%16) {shape=[?1]} : i64[?1]
  %18 = lt(%17, %2) : bool[?1]
  %19 = add(%17, %7) : i64[?1]
  %20 = select(%18, %19, %17) : i64[?1]
  %21 = gather(x, %20) {axis=0} : f32[?1, 4]
  %22 = constant() {value=f32[4, 4] [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]} : f32[4, 4]
  %23 = dot(%21, %22) {contract=([1], [0])} : f32[?1, 4]
  %24 = scatter(%13, %17, %23) {axis=0, combine=add} : f32[t, 4]
  return %24
}
--------------------------------------------------------------------------------
axes { t: 0.. }
graph experts(x: f32[t, 4], w: f32[2, 4, 4], route: i64[t]) -> f32[t, 4] {
  %0 = constant() {value=f32 0.0} : f32[]
  %1 = broadcast(%0) {shape=[t, 4]} : f32[t, 4]
  %2 = iota() {shape=[t, 1], axis=0, dtype=i64} : i64[t, 1]
  %3, %4, %5, %6 = worklist(route) {groups=2, capacity=t} : (i64[t], i64[2], i64[t], i64[t])
  %7 = slice(%4) {starts=[1], stops=[2], steps=[1]} : i64[1]
  %8 = reshape(%7) {shape=[1, 1]} : i64[1, 1]
  %9 = lt(%2, %8) : bool[t, 1]
  %10 = gather(x, %6) {axis=0} : f32[t, 4]
  %11 = constant() {value=f32[2, 4, 4] [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]} : f32[2, 4, 4]
  %12 = grouped_dot(%10, %11, %4) : f32[t, 4]
  %13 = select(%9, %12, %0) : f32[t, 4]
  %14 = gather(%13, %5) {axis=0} : f32[t, 4]
  %15 = add(%1, %14) : f32[t, 4]
  return %15
}
