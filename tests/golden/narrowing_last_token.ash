# RUN: narrowing
axes { batch: 1..64   seq: 1..512   past: 0..512 }
graph layer(x: f32[batch, seq, 8], past: f32[batch, 2, past, 4]) -> (f32[batch, 8], f32[batch, 2, past + seq, 4]) {
  %0 = constant() {value=@w0 f32[8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1 = layer_norm(x) {axis=2}
  %2 = dot(%1, %0) {contract=([2], [0])}
  %3 = reshape(%2) {shape=[batch, seq, 2, 4]}
  %4 = transpose(%3) {perm=[0, 2, 1, 3]}
  %5 = concat(past, %4) {axis=2}
  %6 = dot(%0, %1) {contract=([0], [2])}
  %7 = reshape(%6) {shape=[2, 4, batch, seq]}
  %8 = transpose(%7) {perm=[2, 0, 3, 1]}
  %9 = attention(%8, %5, %5) {causal=bottom_right}
  %10 = transpose(%9) {perm=[0, 2, 1, 3]}
  %11 = reshape(%10) {shape=[batch, seq, 8]}
  %12 = dot(%11, %0) {contract=([2], [0])}
  %13 = add(x, %12)
  %14 = rms_norm(%13) {axis=2}
  %15 = dot(%14, %0) {contract=([2], [0])}
  %16 = add(%13, %15)
  %17 = slice(%16) {starts=[0, seq - 1, 0], stops=[batch, seq, 8], steps=[1, 1, 1]}
  %18 = reshape(%17) {shape=[batch, 8]}
  return %18, %5
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512   past: 0..512 }
graph layer(x: f32[batch, seq, 8], past: f32[batch, 2, past, 4]) -> (f32[batch, 8], f32[batch, 2, past + seq, 4]) {
  %0 = slice(x) {starts=[0, seq - 1, 0], stops=[batch, seq, 8], steps=[1, 1, 1]} : f32[batch, 1, 8]
  %1 = constant() {value=@w0 f32[8, 8] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4} : f32[8, 8]
  %2 = layer_norm(x) {axis=2} : f32[batch, seq, 8]
  %3 = slice(%2) {starts=[0, seq - 1, 0], stops=[batch, seq, 8], steps=[1, 1, 1]} : f32[batch, 1, 8]
  %4 = dot(%1, %3) {contract=([0], [2])} : f32[8, batch, 1]
  %5 = reshape(%4) {shape=[2, 4, batch, 1]} : f32[2, 4, batch, 1]
  %6 = transpose(%5) {perm=[2, 0, 3, 1]} : f32[batch, 2, 1, 4]
  %7 = dot(%2, %1) {contract=([2], [0])} : f32[batch, seq, 8]
  %8 = reshape(%7) {shape=[batch, seq, 2, 4]} : f32[batch, seq, 2, 4]
  %9 = transpose(%8) {perm=[0, 2, 1, 3]} : f32[batch, 2, seq, 4]
  %10 = concat(past, %9) {axis=2} : f32[batch, 2, past + seq, 4]
  %11 = attention(%6, %10, %10) {causal=bottom_right} : f32[batch, 2, 1, 4]
  %12 = reshape(%11) {shape=[batch, 1, 8]} : f32[batch, 1, 8]
  %13 = dot(%12, %1) {contract=([2], [0])} : f32[batch, 1, 8]
  %14 = add(%0, %13) : f32[batch, 1, 8]
  %15 = rms_norm(%14) {axis=2} : f32[batch, 1, 8]
  %16 = dot(%15, %1) {contract=([2], [0])} : f32[batch, 1, 8]
  %17 = add(%14, %16) : f32[batch, 1, 8]
  %18 = reshape(%17) {shape=[batch, 8]} : f32[batch, 8]
  return %18, %10
}
