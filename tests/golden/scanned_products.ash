# RUN: scanned-products, dce
graph cell(x: f32[t, n, 4], h: f32[n, 3], w: f32[4, 3]) -> f32[t, n, 3] {
  %0, %1 = scan(h, x, w) {carried=1, scanned=1, length=t}
    body(a0: f32[n, 3], a1: f32[n, 4], a2: f32[4, 3]) -> (f32[n, 3], f32[n, 3]) {
      %0 = exp(a1)
      %1 = dot(%0, a2) {contract=([1], [0])}
      %2 = add(a0, %1)
      %3 = tanh(%2)
      return %3, %3
    }
  return %1
}
--------------------------------------------------------------------------------
graph cell(x: f32[t, n, 4], h: f32[n, 3], w: f32[4, 3]) -> f32[t, n, 3] {
  %0 = exp(x) : f32[t, n, 4]
  %1 = dot(%0, w) {contract=([2], [0])} : f32[t, n, 3]
  %2, %3 = scan(h, %1) {carried=1, scanned=1, length=t}
    body(a0: f32[n, 3], a1: f32[n, 3]) -> (f32[n, 3], f32[n, 3]) {
      %0 = add(a0, a1) : f32[n, 3]
      %1 = tanh(%0) : f32[n, 3]
      return %1, %1
    } : (f32[n, 3], f32[t, n, 3])
  return %3
}
