# RUN: fuse, single-kernels, share-kernels
axes { n: 1..64 }
graph model(x: f32[n]) -> f32[n] {
  %0 = constant() {value=f32 2.5}
  %1 = add(x, %0)
  %2 = cumsum(%1) {axis=0}
  %3 = constant() {value=f32 3.5}
  %4 = add(%2, %3)
  %5 = cumsum(%4) {axis=0}
  %6 = constant() {value=f32 4.5}
  %7 = add(%5, %6)
  %8 = cumsum(%7) {axis=0}
  %9 = constant() {value=f32 5.5}
  %10 = add(%8, %9)
  %11 = cumsum(%10) {axis=0}
  %12 = constant() {value=f32 6.5}
  %13 = add(%11, %12)
  %14 = cumsum(%13) {axis=0}
  %15 = constant() {value=f32 7.5}
  %16 = add(%14, %15)
  %17 = cumsum(%16) {axis=0}
  %18 = constant() {value=f32 8.5}
  %19 = add(%17, %18)
  %20 = cumsum(%19) {axis=0}
  %21 = constant() {value=f32 9.5}
  %22 = add(%20, %21)
  %23 = cumsum(%22) {axis=0}
  %24 = constant() {value=f32 10.5}
  %25 = add(%23, %24)
  %26 = cumsum(%25) {axis=0}
  %27 = constant() {value=f32 11.5}
  %28 = add(%26, %27)
  %29 = cumsum(%28) {axis=0}
  return %29
}
--------------------------------------------------------------------------------
axes { n: 1..64 }
graph model(x: f32[n]) -> f32[n] {
  %0 = constant() {value=f32 2.5} : f32[]
  %1 = kernel(x, %0)
    body(a0: f32[n], a1: f32[]) -> f32[n] {
      %0 = add(a0, a1) : f32[n]
      %1 = cumsum(%0) {axis=0} : f32[n]
      return %1
    } : f32[n]
  %2 = constant() {value=f32 3.5} : f32[]
  %3 = kernel(%1, %2)
    body(a0: f32[n], a1: f32[]) -> f32[n] {
      %0 = add(a0, a1) : f32[n]
      %1 = cumsum(%0) {axis=0} : f32[n]
      return %1
    } : f32[n]
  %4 = constant() {value=f32 4.5} : f32[]
  %5 = kernel(%3, %4)
    body(a0: f32[n], a1: f32[]) -> f32[n] {
      %0 = add(a0, a1) : f32[n]
      %1 = cumsum(%0) {axis=0} : f32[n]
      return %1
    } : f32[n]
  %6 = constant() {value=f32 5.5} : f32[]
  %7 = kernel(%5, %6)
    body(a0: f32[n], a1: f32[]) -> f32[n] {
      %0 = add(a0, a1) : f32[n]
      %1 = cumsum(%0) {axis=0} : f32[n]
      return %1
    } : f32[n]
  %8 = constant() {value=f32 6.5} : f32[]
  %9 = kernel(%7, %8)
    body(a0: f32[n], a1: f32[]) -> f32[n] {
      %0 = add(a0, a1) : f32[n]
      %1 = cumsum(%0) {axis=0} : f32[n]
      return %1
    } : f32[n]
  %10 = constant() {value=f32 7.5} : f32[]
  %11 = kernel(%9, %10)
    body(a0: f32[n], a1: f32[]) -> f32[n] {
      %0 = add(a0, a1) : f32[n]
      %1 = cumsum(%0) {axis=0} : f32[n]
      return %1
    } : f32[n]
  %12 = constant() {value=f32 8.5} : f32[]
  %13 = kernel(%11, %12)
    body(a0: f32[n], a1: f32[]) -> f32[n] {
      %0 = add(a0, a1) : f32[n]
      %1 = cumsum(%0) {axis=0} : f32[n]
      return %1
    } : f32[n]
  %14 = constant() {value=f32 9.5} : f32[]
  %15 = kernel(%13, %14)
    body(a0: f32[n], a1: f32[]) -> f32[n] {
      %0 = add(a0, a1) : f32[n]
      %1 = cumsum(%0) {axis=0} : f32[n]
      return %1
    } : f32[n]
  %16 = constant() {value=f32 10.5} : f32[]
  %17 = kernel(%15, %16)
    body(a0: f32[n], a1: f32[]) -> f32[n] {
      %0 = add(a0, a1) : f32[n]
      %1 = cumsum(%0) {axis=0} : f32[n]
      return %1
    } : f32[n]
  %18 = constant() {value=f32 11.5} : f32[]
  %19 = kernel(%17, %18)
    body(a0: f32[n], a1: f32[]) -> f32[n] {
      %0 = add(a0, a1) : f32[n]
      %1 = cumsum(%0) {axis=0} : f32[n]
      return %1
    } : f32[n]
  return %19
}
