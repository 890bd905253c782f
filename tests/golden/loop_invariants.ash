# RUN: loop-invariants, dce
graph powers(i: i64[], often: i64[], x: f32[n, 4], w: f32[4, 4]) -> f32[n, 4] {
  %0, %1 = while(i, x, often, x, w) {carried=2}
    condition(a0: i64[], a1: f32[n, 4], a2: i64[], a3: f32[n, 4], a4: f32[4, 4]) -> bool[] {
      %0 = lt(a0, a2)
      return %0
    }
    body(a0: i64[], a1: f32[n, 4], a2: i64[], a3: f32[n, 4], a4: f32[4, 4]) -> (i64[], f32[n, 4]) {
      %0 = constant() {value=i64 1}
      %1 = add(a0, %0)
      %2 = dot(a3, a4) {contract=([1], [0])}
      %3 = exp(%2)
      %4 = add(a1, %3)
      return %1, %4
    }
  return %1
}
--------------------------------------------------------------------------------
graph powers(i: i64[], often: i64[], x: f32[n, 4], w: f32[4, 4]) -> f32[n, 4] {
  %0 = dot(x, w) {contract=([1], [0])} : f32[n, 4]
  %1 = exp(%0) : f32[n, 4]
  %2, %3 = while(i, x, often, %1) {carried=2}
    condition(a0: i64[], a1: f32[n, 4], a2: i64[], a3: f32[n, 4]) -> bool[] {
      %0 = lt(a0, a2) : bool[]
      return %0
    }
    body(a0: i64[], a1: f32[n, 4], a2: i64[], a3: f32[n, 4]) -> (i64[], f32[n, 4]) {
      %0 = constant() {value=i64 1} : i64[]
      %1 = add(a0, %0) : i64[]
      %2 = add(a1, a3) : f32[n, 4]
      return %1, %2
    } : (i64[], f32[n, 4])
  return %3
}
