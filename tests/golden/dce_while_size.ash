# RUN: dce
graph sized(limit: i64[], x: f32[n, 8]) -> i64[] {
  %0 = constant() {value=i64 0}
  %1, %2 = while(%0, x, limit) {carried=2} late [k]
    condition(a0: i64[], a1: f32[rows, 8], a2: i64[]) -> bool[] {
      %0 = lt(a0, a2)
      return %0
    }
    body(a0: i64[], a1: f32[rows, 8], a2: i64[]) -> (i64[], f32[2*rows, 8]) {
      %0 = dim_value() {value=rows}
      %1 = add(a0, %0)
      %2 = concat(a1, a1) {axis=0}
      return %1, %2
    }
  return %1
}
--------------------------------------------------------------------------------
graph sized(limit: i64[], x: f32[n, 8]) -> i64[] {
  %0 = constant() {value=i64 0} : i64[]
  %1, %2 = while(%0, x, limit) {carried=2} late [k]
    condition(a0: i64[], a1: f32[rows, 8], a2: i64[]) -> bool[] {
      %0 = lt(a0, a2) : bool[]
      return %0
    }
    body(a0: i64[], a1: f32[rows, 8], a2: i64[]) -> (i64[], f32[2*rows, 8]) {
      %0 = dim_value() {value=rows} : i64[]
      %1 = add(a0, %0) : i64[]
      %2 = concat(a1, a1) {axis=0} : f32[2*rows, 8]
      return %1, %2
    } : (i64[], f32[k, 8])
  return %1
}
