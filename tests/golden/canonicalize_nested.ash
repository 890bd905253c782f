# RUN: canonicalize
graph loop(h: f32[batch, 8], xs: f32[seq, batch, 8]) -> f32[batch, 8] {
  %0, %1 = scan(h, xs) {carried=1, scanned=1, length=seq}
    body(a0: f32[batch, 8], a1: f32[batch, 8]) -> (f32[batch, 8], i64[]) {
      %0 = constant() {value=f32 1}
      %1 = mul(a0, %0)
      %2 = transpose(%1) {perm=[0, 1]}
      %3 = add(%2, a1)
      %4 = dim_of(%3) {axis=0}
      return %3, %4
    }
  return %0
}
--------------------------------------------------------------------------------
graph loop(h: f32[batch, 8], xs: f32[seq, batch, 8]) -> f32[batch, 8] {
  %0, %1 = scan(h, xs) {carried=1, scanned=1, length=seq}
    body(a0: f32[batch, 8], a1: f32[batch, 8]) -> (f32[batch, 8], i64[]) {
      %0 = add(a0, a1) : f32[batch, 8]
      %1 = dim_value() {value=batch} : i64[]
      return %0, %1
    } : (f32[batch, 8], i64[seq])
  return %0
}
