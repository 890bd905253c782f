# RUN: canonicalize, known-indices, dce
axes { n: 0.. }
graph two_axes(x: f32[n, 4], y: f32[n]) -> f32[?0] {
  %0 = constant() {value=f32 0.0} : f32[]
  %1 = gt(x, %0) : bool[n, 4]
  %2 = nonzero(%1) late [?0 <= 4*n] : i64[?0, 2]
  %3 = reshape(x) {shape=[4*n]} : f32[4*n]
  %4 = slice(%2) {starts=[0, 1], stops=[?0, 2], steps=[1, 1]} : i64[?0, 1]
  %5 = reshape(%4) {shape=[?0]} : i64[?0]
  %6 = constant() {value=i64 0} : i64[]
  %7 = lt(%5, %6) : bool[?0]
  %8 = constant() {value=i64 4} : i64[]
  %9 = add(%5, %8) : i64[?0]
  %10 = select(%7, %9, %5) : i64[?0]
  %11 = ge(%10, %6) : bool[?0]
  %12 = lt(%10, %8) : bool[?0]
  %13 = logical_and(%11, %12) : bool[?0]
  %14 = slice(%2) {starts=[0, 0], stops=[?0, 1], steps=[1, 1]} : i64[?0, 1]
  %15 = reshape(%14) {shape=[?0]} : i64[?0]
  %16 = lt(%15, %6) : bool[?0]
  %17 = dim_value() {value=n} : i64[]
  %18 = add(%15, %17) : i64[?0]
  %19 = select(%16, %18, %15) : i64[?0]
  %20 = ge(%19, %6) : bool[?0]
  %21 = logical_and(%13, %20) : bool[?0]
  %22 = mul(%19, %8) : i64[?0]
  %23 = add(%22, %10) : i64[?0]
  %24 = constant() {value=i64 -1} : i64[]
  %25 = select(%21, %23, %24) : i64[?0]
  %26 = gather(%3, %25) {axis=0} : f32[?0]
  %27 = gather(y, %19) {axis=0} : f32[?0]
  %28 = add(%26, %27) : f32[?0]
  return %28
}
--------------------------------------------------------------------------------
axes { n: 0.. }
graph two_axes(x: f32[n, 4], y: f32[n]) -> f32[?0] {
  %0 = constant() {value=f32 0.0} : f32[]
  %1 = gt(x, %0) : bool[n, 4]
  %2 = nonzero(%1) late [?0 <= 4*n] : i64[?0, 2]
  %3 = reshape(x) {shape=[4*n]} : f32[4*n]
  %4 = slice(%2) {starts=[0, 0], stops=[?0, 1], steps=[1, 1]} : i64[?0, 1]
  %5 = reshape(%4) {shape=[?0]} : i64[?0]
  %6 = constant() {value=i64 4} : i64[]
  %7 = mul(%5, %6) : i64[?0]
  %8 = slice(%2) {starts=[0, 1], stops=[?0, 2], steps=[1, 1]} : i64[?0, 1]
  %9 = reshape(%8) {shape=[?0]} : i64[?0]
  %10 = add(%7, %9) : i64[?0]
  %11 = gather(%3, %10) {axis=0} : f32[?0]
  %12 = gather(y, %5) {axis=0} : f32[?0]
  %13 = add(%11, %12) : f32[?0]
  return %13
}
