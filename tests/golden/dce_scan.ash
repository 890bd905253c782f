# RUN: dce
graph last(h: f32[8], g: f32[8], xs: f32[seq, 8], ys: f32[seq, 8], c: f32[8], d: f32[8]) -> f32[seq, 8] {
  %0, %1, %2, %3 = scan(h, g, xs, ys, c, d) {carried=2, scanned=2, length=seq}
    body(a0: f32[8], a1: f32[8], a2: f32[8], a3: f32[8], a4: f32[8], a5: f32[8]) -> (f32[8], f32[8], f32[8], f32[8]) {
      %0 = add(a0, a2)
      %1 = add(a1, a3)
      %2 = mul(%0, a5)
      %3 = mul(%1, a4)
      return %0, %1, %2, %3
    }
  return %2
}
--------------------------------------------------------------------------------
graph last(h: f32[8], g: f32[8], xs: f32[seq, 8], ys: f32[seq, 8], c: f32[8], d: f32[8]) -> f32[seq, 8] {
  %0, %1 = scan(h, xs, d) {carried=1, scanned=1, length=seq}
    body(a0: f32[8], a1: f32[8], a2: f32[8]) -> (f32[8], f32[8]) {
      %0 = add(a0, a1) : f32[8]
      %1 = mul(%0, a2) : f32[8]
      return %0, %1
    } : (f32[8], f32[seq, 8])
  return %1
}
