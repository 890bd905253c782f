# RUN: narrowing
graph parts(x: f32[batch, seq, 8], y: f32[seq, seq + 1]) -> (f32[batch, min(seq, 1), 4], f32[batch, min(seq, 1), 4], f32[1, seq//2 + 1], f32[]) {
  %0 = constant() {value=@w0 f32[8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1 = dot(x, %0) {contract=([2], [0])}
  %2 = slice(%1) {starts=[0, 0, 0], stops=[batch, min(seq, 1), 4], steps=[1, 1, 1]}
  %3 = slice(%1) {starts=[0, 0, 4], stops=[batch, min(seq, 1), 8], steps=[1, 1, 1]}
  %4 = sum(y) {axes=[0], keepdims=true}
  %5 = exp(%4)
  %6 = slice(%5) {starts=[0, 0], stops=[1, seq + 1], steps=[1, 2]}
  %7 = cumsum(y) {axis=0}
  %8 = slice(%7) {starts=[0, 0], stops=[seq, 1], steps=[1, 1]}
  %9 = sum(%8) {axes=[0, 1]}
  return %2, %3, %6, %9
}
--------------------------------------------------------------------------------
graph parts(x: f32[batch, seq, 8], y: f32[seq, seq + 1]) -> (f32[batch, min(seq, 1), 4], f32[batch, min(seq, 1), 4], f32[1, seq//2 + 1], f32[]) {
  %0 = slice(x) {starts=[0, 0, 0], stops=[batch, min(seq, 1), 8], steps=[1, 1, 1]} : f32[batch, min(seq, 1), 8]
  %1 = constant() {value=@w0 f32[8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4} : f32[8, 8]
  %2 = dot(%0, %1) {contract=([2], [0])} : f32[batch, min(seq, 1), 8]
  %3 = slice(%2) {starts=[0, 0, 0], stops=[batch, min(seq, 1), 4], steps=[1, 1, 1]} : f32[batch, min(seq, 1), 4]
  %4 = slice(%2) {starts=[0, 0, 4], stops=[batch, min(seq, 1), 8], steps=[1, 1, 1]} : f32[batch, min(seq, 1), 4]
  %5 = slice(y) {starts=[0, 0], stops=[seq, seq + 1], steps=[1, 2]} : f32[seq, seq//2 + 1]
  %6 = sum(%5) {axes=[0], keepdims=true} : f32[1, seq//2 + 1]
  %7 = exp(%6) : f32[1, seq//2 + 1]
  %8 = slice(y) {starts=[0, 0], stops=[seq, 1], steps=[1, 1]} : f32[seq, 1]
  %9 = cumsum(%8) {axis=0} : f32[seq, 1]
  %10 = sum(%9) {axes=[0, 1]} : f32[]
  return %3, %4, %7, %10
}
