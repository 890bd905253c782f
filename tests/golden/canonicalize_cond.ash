# RUN: canonicalize
facts { broadcastable(n, m) }
graph known(x: f32[n], y: f32[m]) -> (f32[n], f32[]) {
  %0 = constant() {value=bool false}
  %1, %2 = cond(%0, x, y)
    then(a0: f32[n], a1: f32[m]) -> (f32[n], f32[]) {
      %0 = constant() {value=f32 0}
      return a0, %0
    }
    else(a0: f32[n], a1: f32[m]) -> (f32[n], f32[]) {
      %0 = add(a0, a1)
      %1 = sum(%0) {axes=[0]}
      %2 = reshape(a0) {shape=[2, n//2]}
      %3 = reshape(%2) {shape=[n]}
      %4 = exp(%3)
      return %4, %1
    }
  return %1, %2
}
--------------------------------------------------------------------------------
facts {
  broadcastable(n, m)  # user
  n == 2*(n//2)        # op: reshape: [n] and [2, n//2] must have the same size @ <text>:12
}
graph known(x: f32[n], y: f32[m]) -> (f32[n], f32[]) {
  %0 = exp(x) : f32[n]
  %1 = add(x, y) : f32[bcast(m, n)]
  %2 = sum(%1) {axes=[0]} : f32[]
  return %0, %2
}
