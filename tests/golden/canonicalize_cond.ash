# RUN: canonicalize
graph known(x: f32[n], y: f32[m]) -> (f32[n], f32[]) {
  %0 = constant() {value=bool false}
  %1, %2 = cond(%0, x, y)
    then(a0: f32[n], a1: f32[m]) -> (f32[n], f32[]) {
      %0 = constant() {value=f32 0}
      return a0, %0
    }
    else(a0: f32[n], a1: f32[m]) -> (f32[n], f32[]) {
      %0 = add(a0, a1)
      %1 = dot(a0, a1) {contract=([0], [0])}
      return a0, %1
    }
  return %1, %2
}
--------------------------------------------------------------------------------
facts {
  n == m
}
graph known(x: f32[n], y: f32[m]) -> (f32[n], f32[]) {
  %0 = dot(x, y) {contract=([0], [0])} : f32[]
  return x, %0
}
