# RUN: canonicalize, known-indices, worklists, dce
axes { t: 0.. }
graph routed(x: f32[t, 4], scores: f32[t, 3], wa: f32[3, 4, 4]) -> f32[t, 4] {
  %0 = argmax(scores) {axis=1} : i64[t]
  %1, %2 = sort(%0) {axis=0} : (i64[t], i64[t])
  %3 = constant() {value=i64 0} : i64[]
  %4 = lt(%2, %3) : bool[t]
  %5 = dim_value() {value=t} : i64[]
  %6 = add(%2, %5) : i64[t]
  %7 = select(%4, %6, %2) : i64[t]
  %8 = gather(x, %7) {axis=0} : f32[t, 4]
  %9 = reshape(%0) {shape=[t, 1]} : i64[t, 1]
  %10 = iota() {shape=[3], axis=0, dtype=i64} : i64[3]
  %11 = eq(%9, %10) : bool[t, 3]
  %12 = cast(%11) {to=i64} : i64[t, 3]
  %13 = sum(%12) {axes=[0]} : i64[3]
  %14 = reshape(%13) {shape=[3]} : i64[3]
  %15 = cumsum(%14) {axis=0} : i64[3]
  %16 = grouped_dot(%8, wa, %15) : f32[t, 4]
  %17, %18 = sort(%2) {axis=0} : (i64[t], i64[t])
  %19 = lt(%18, %3) : bool[t]
  %20 = add(%18, %5) : i64[t]
  %21 = select(%19, %20, %18) : i64[t]
  %22 = gather(%16, %21) {axis=0} : f32[t, 4]
  return %22
}
--------------------------------------------------------------------------------
axes { t: 0.. }
graph routed(x: f32[t, 4], scores: f32[t, 3], wa: f32[3, 4, 4]) -> f32[t, 4] {
  %0 = argmax(scores) {axis=1} : i64[t]
  %1, %2, %3, %4 = worklist(%0) {groups=3, capacity=t} : (i64[t], i64[3], i64[t], i64[t])
  %5 = gather(x, %1) {axis=0} : f32[t, 4]
  %6 = grouped_dot(%5, wa, %2) : f32[t, 4]
  %7 = gather(%6, %3) {axis=0} : f32[t, 4]
  return %7
}
