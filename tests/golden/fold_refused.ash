# RUN: fold
graph outside(x: f32[n]) -> (f32[], f32[]) {
  %0 = constant() {value=f32[3] [1, 2, 3]}
  %1 = constant() {value=i64 3}
  %2 = gather(%0, %1) {axis=0}
  %3 = dim_value() {value=n}
  %4 = cast(%3) {to=f32}
  return %2, %4
}
--------------------------------------------------------------------------------
graph outside(x: f32[n]) -> (f32[], f32[]) {
  %0 = constant() {value=f32[3] [1.0, 2.0, 3.0]} : f32[3]
  %1 = constant() {value=i64 3} : i64[]
  %2 = gather(%0, %1) {axis=0} : f32[]
  %3 = dim_value() {value=n} : i64[]
  %4 = cast(%3) {to=f32} : f32[]
  return %2, %4
}
