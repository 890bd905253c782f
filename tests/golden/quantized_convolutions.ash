# RUN: quantized-products, dce
graph convolutions(x: u8[n, h, 2], y: i8[n, h, 2], z: i8[]) -> (f32[n, h, 2], i32[n, h, 2]) {
  %0 = constant() {value=i8[1, 3, 2, 2] [1, 2, 3, -4, 5, 6, -7, 8, 9, 10, 11, -128]}
  %1 = constant() {value=i32 3}
  %2 = constant() {value=f32 0.5}
  %3 = cast(x) {to=i32}
  %4 = sub(%3, %1)
  %5 = cast(%4) {to=f32}
  %6 = mul(%5, %2)
  %7 = cast(%0) {to=f32}
  %8 = mul(%7, %2)
  %9 = conv(%6, %8) {strides=[1], dilations=[1], low=[2], high=[0]}
  %10 = cast(y) {to=i32}
  %11 = cast(z) {to=i32}
  %12 = sub(%10, %11)
  %13 = cast(%0) {to=i32}
  %14 = sub(%13, %1)
  %15 = conv(%12, %14) {strides=[1], dilations=[1], low=[1], high=[1]}
  return %9, %15
}
--------------------------------------------------------------------------------
facts {
  2 < h + 2  # op: conv: the kernel reaches over 3 places, and the input has h + 2 @ <text>:11
}
graph convolutions(x: u8[n, h, 2], y: i8[n, h, 2], z: i8[]) -> (f32[n, h, 2], i32[n, h, 2]) {
  %0 = constant() {value=u8 3} : u8[]
  %1 = pad(x, %0) {low=[0, 2, 0], high=[0, 0, 0]} : u8[n, h + 2, 2]
  %2 = cast(%1) {to=i32} : i32[n, h + 2, 2]
  %3 = constant() {value=i8[1, 3, 2, 2] [1, 2, 3, -4, 5, 6, -7, 8, 9, 10, 11, -128]} : i8[1, 3, 2, 2]
  %4 = cast(%3) {to=i32} : i32[1, 3, 2, 2]
  %5 = conv(%2, %4) {strides=[1], dilations=[1], low=[0], high=[0]} : i32[n, h, 2]
  %6 = constant() {value=i32[2] [66, -318]} : i32[2]
  %7 = sub(%5, %6) : i32[n, h, 2]
  %8 = cast(%7) {to=f32} : f32[n, h, 2]
  %9 = constant() {value=f32 0.5} : f32[]
  %10 = mul(%9, %9) : f32[]
  %11 = mul(%8, %10) : f32[n, h, 2]
  %12 = cast(y) {to=u8} : u8[n, h, 2]
  %13 = constant() {value=u8 128} : u8[]
  %14 = bitwise_xor(%12, %13) : u8[n, h, 2]
  %15 = cast(z) {to=i32} : i32[]
  %16 = constant() {value=i32 128} : i32[]
  %17 = add(%15, %16) : i32[]
  %18 = cast(%17) {to=u8} : u8[]
  %19 = pad(%14, %18) {low=[0, 1, 0], high=[0, 1, 0]} : u8[n, h + 2, 2]
  %20 = cast(%19) {to=i32} : i32[n, h + 2, 2]
  %21 = conv(%20, %4) {strides=[1], dilations=[1], low=[0], high=[0]} : i32[n, h, 2]
  %22 = constant() {value=i32[2] [4, -124]} : i32[2]
  %23 = mul(%22, %17) : i32[2]
  %24 = sub(%21, %23) : i32[n, h, 2]
  %25 = constant() {value=i8[1, 3, 2, 1] [1, 1, 1, 1, 1, 1]} : i8[1, 3, 2, 1]
  %26 = cast(%25) {to=i32} : i32[1, 3, 2, 1]
  %27 = conv(%20, %26) {strides=[1], dilations=[1], low=[0], high=[0]} : i32[n, h, 1]
  %28 = constant() {value=i32[2] [3, 3]} : i32[2]
  %29 = mul(%27, %28) : i32[n, h, 2]
  %30 = sub(%24, %29) : i32[n, h, 2]
  return %11, %30
}
