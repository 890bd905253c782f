# RUN: dce
graph steps(limit: i64[], x: f32[n, 8], unused: f32[n, 8]) -> f32[n, 8] {
  %0 = constant() {value=i64 0}
  %1, %2, %3 = while(%0, x, unused, limit, unused) {carried=3}
    condition(a0: i64[], a1: f32[n, 8], a2: f32[n, 8], a3: i64[], a4: f32[n, 8]) -> bool[] {
      %0 = lt(a0, a3)
      return %0
    }
    body(a0: i64[], a1: f32[n, 8], a2: f32[n, 8], a3: i64[], a4: f32[n, 8]) -> (i64[], f32[n, 8], f32[n, 8]) {
      %0 = constant() {value=i64 1}
      %1 = add(a0, %0)
      %2 = exp(a1)
      %3 = add(a2, a4)
      return %1, %2, %3
    }
  return %2
}
--------------------------------------------------------------------------------
graph steps(limit: i64[], x: f32[n, 8], unused: f32[n, 8]) -> f32[n, 8] {
  %0 = constant() {value=i64 0} : i64[]
  %1, %2 = while(%0, x, limit) {carried=2}
    condition(a0: i64[], a1: f32[n, 8], a2: i64[]) -> bool[] {
      %0 = lt(a0, a2) : bool[]
      return %0
    }
    body(a0: i64[], a1: f32[n, 8], a2: i64[]) -> (i64[], f32[n, 8]) {
      %0 = constant() {value=i64 1} : i64[]
      %1 = add(a0, %0) : i64[]
      %2 = exp(a1) : f32[n, 8]
      return %1, %2
    } : (i64[], f32[n, 8])
  return %2
}
