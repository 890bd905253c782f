# RUN: quantized-products, dce
graph products(x: u8[n, 2], y: i8[n, 2], zero: i32[]) -> (f32[n, 2], i32[n, 2]) {
  %0 = constant() {value=i8[2, 2] [1, 2, 3, -4]}
  %1 = constant() {value=i32 3}
  %2 = constant() {value=f32 0.5}
  %3 = cast(x) {to=i32}
  %4 = sub(%3, %1)
  %5 = cast(%4) {to=f32}
  %6 = mul(%5, %2)
  %7 = cast(%0) {to=f32}
  %8 = mul(%7, %2)
  %9 = dot(%6, %8) {contract=([1], [0])}
  %10 = cast(y) {to=i32}
  %11 = sub(%10, zero)
  %12 = cast(%0) {to=i32}
  %13 = sub(%12, %1)
  %14 = dot(%11, %13) {contract=([1], [0])}
  return %9, %14
}
--------------------------------------------------------------------------------
graph products(x: u8[n, 2], y: i8[n, 2], zero: i32[]) -> (f32[n, 2], i32[n, 2]) {
  %0 = cast(x) {to=i32} : i32[n, 2]
  %1 = constant() {value=i8[2, 2] [1, 2, 3, -4]} : i8[2, 2]
  %2 = cast(%1) {to=i32} : i32[2, 2]
  %3 = dot(%0, %2) {contract=([1], [0])} : i32[n, 2]
  %4 = constant() {value=i32[2] [4, -2]} : i32[2]
  %5 = constant() {value=i32 3} : i32[]
  %6 = mul(%4, %5) : i32[2]
  %7 = sub(%3, %6) : i32[n, 2]
  %8 = cast(%7) {to=f32} : f32[n, 2]
  %9 = constant() {value=f32 0.5} : f32[]
  %10 = mul(%9, %9) : f32[]
  %11 = mul(%8, %10) : f32[n, 2]
  %12 = cast(y) {to=u8} : u8[n, 2]
  %13 = constant() {value=u8 128} : u8[]
  %14 = bitwise_xor(%12, %13) : u8[n, 2]
  %15 = cast(%14) {to=i32} : i32[n, 2]
  %16 = dot(%15, %2) {contract=([1], [0])} : i32[n, 2]
  %17 = constant() {value=i32[2] [-2, -8]} : i32[2]
  %18 = constant() {value=i32 128} : i32[]
  %19 = add(zero, %18) : i32[]
  %20 = mul(%17, %19) : i32[2]
  %21 = sub(%16, %20) : i32[n, 2]
  %22 = sum(%15) {axes=[1]} : i32[n]
  %23 = reshape(%22) {shape=[n, 1]} : i32[n, 1]
  %24 = constant() {value=i32[2] [3, 3]} : i32[2]
  %25 = mul(%23, %24) : i32[n, 2]
  %26 = sub(%21, %25) : i32[n, 2]
  return %11, %26
}
