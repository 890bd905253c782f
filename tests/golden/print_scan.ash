# RUN: print
graph rnn(h: f32[batch, 8], xs: f32[seq, batch, 8]) -> (f32[batch, 8], f32[seq, batch, 8]) {
  %0 = constant() {value=@w0 f32[8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1, %2 = scan(h, xs, %0) {carried=1, scanned=1, length=seq}
    body(a0: f32[batch, 8], a1: f32[batch, 8], a2: f32[8, 8]) -> (f32[batch, 8], f32[batch, 8]) {
      %0 = dot(a0, a2) {contract=([1], [0])}
      %1 = add(%0, a1)
      %2 = tanh(%1)
      return %2, %2
    }
  return %1, %2
}
--------------------------------------------------------------------------------
graph rnn(h: f32[batch, 8], xs: f32[seq, batch, 8]) -> (f32[batch, 8], f32[seq, batch, 8]) {
  %0 = constant() {value=@w0 f32[8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4} : f32[8, 8]
  %1, %2 = scan(h, xs, %0) {carried=1, scanned=1, length=seq}
    body(a0: f32[batch, 8], a1: f32[batch, 8], a2: f32[8, 8]) -> (f32[batch, 8], f32[batch, 8]) {
      %0 = dot(a0, a2) {contract=([1], [0])} : f32[batch, 8]
      %1 = add(%0, a1) : f32[batch, 8]
      %2 = tanh(%1) : f32[batch, 8]
      return %2, %2
    } : (f32[batch, 8], f32[seq, batch, 8])
  return %1, %2
}
