# RUN: print
graph routed(x: f32[tokens, 8], scores: f32[tokens]) -> (f32[picked, 8], i64[picked, 1]) {
  %0 = constant() {value=f32 0.5}
  %1 = gt(scores, %0)
  %2 = nonzero(%1) late [picked <= tokens]
  %3 = reshape(%2) {shape=[picked]}
  %4 = gather(x, %3) {axis=0}
  return %4, %2
}
--------------------------------------------------------------------------------
graph routed(x: f32[tokens, 8], scores: f32[tokens]) -> (f32[picked, 8], i64[picked, 1]) {
  %0 = constant() {value=f32 0.5} : f32[]
  %1 = gt(scores, %0) : bool[tokens]
  %2 = nonzero(%1) late [picked <= tokens] : i64[picked, 1]
  %3 = reshape(%2) {shape=[picked]} : i64[picked]
  %4 = gather(x, %3) {axis=0} : f32[picked, 8]
  return %4, %2
}
