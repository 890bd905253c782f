# RUN: canonicalize, fold, canonicalize, dce
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[batch, seq, 8], mask: bool[seq]) -> f32[batch, seq, 16] {
  %0 = constant() {value=@w0 f32[8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1 = constant() {value=@w1 f32[8, 16] sha256:22802d385e80d278067487007f235c0e53ac85f091deacb074f719fa26dfe8b0}
  %2 = slice(x) {starts=[0, 0, 0], stops=[batch, min(seq, 512), 8], steps=[1, 1, 1]}
  %3 = constant() {value=f32 2}
  %4 = constant() {value=f32 0.5}
  %5 = mul(%3, %4)
  %6 = mul(%2, %5)
  %7 = constant() {value=i64 3}
  %8 = constant() {value=i64 4}
  %9 = lt(%7, %8)
  %10 = cond(%9, %6, %0, %1)
    then(a0: f32[batch, seq, 8], a1: f32[8, 8], a2: f32[8, 16]) -> f32[batch, seq, 16] {
      %0 = dot(a0, a2) {contract=([2], [0])}
      return %0
    }
    else(a0: f32[batch, seq, 8], a1: f32[8, 8], a2: f32[8, 16]) -> f32[batch, seq, 16] {
      %0 = dot(a0, a1) {contract=([2], [0])}
      %1 = dot(%0, a2) {contract=([2], [0])}
      return %1
    }
  return %10
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512 }
graph model(x: f32[batch, seq, 8], mask: bool[seq]) -> f32[batch, seq, 16] {
  %0 = constant() {value=@w1 f32[8, 16] sha256:22802d385e80d278067487007f235c0e53ac85f091deacb074f719fa26dfe8b0} : f32[8, 16]
  %1 = dot(x, %0) {contract=([2], [0])} : f32[batch, seq, 16]
  return %1
}
