# RUN: canonicalize
graph laws(x: f32[n], i: i32[n]) -> (f32[n], i32[n]) {
  %0 = constant() {value=f32 1}
  %1 = mul(%0, x)
  %2 = neg(%1)
  %3 = neg(%2)
  %4 = constant() {value=f32 -0.0}
  %5 = add(%3, %4)
  %6 = constant() {value=f32 0}
  %7 = sub(%5, %6)
  %8 = add(%7, %6)
  %9 = neg(x)
  %10 = add(%8, %9)
  %11 = maximum(%10, %10)
  %12 = constant() {value=i32 0}
  %13 = mul(i, %12)
  %14 = add(%13, i)
  return %11, %14
}
--------------------------------------------------------------------------------
graph laws(x: f32[n], i: i32[n]) -> (f32[n], i32[n]) {
  %0 = constant() {value=f32 0.0} : f32[]
  %1 = add(x, %0) : f32[n]
  %2 = sub(%1, x) : f32[n]
  return %2, i
}
