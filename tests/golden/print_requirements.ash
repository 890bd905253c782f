# RUN: print
facts { broadcastable(n, m) }
graph unknown(x: f32[n, 4], y: f32[m, 4], z: f32[k]) -> (f32[bcast(m, n), 4], f32[2, k//2]) {
  %0 = add(x, y)
  %1 = reshape(z) {shape=[2, k//2]}
  return %0, %1
}
--------------------------------------------------------------------------------
facts {
  broadcastable(n, m)  # user
  k == 2*(k//2)        # op: reshape: [k] and [2, k//2] must have the same size @ <text>:4
}
graph unknown(x: f32[n, 4], y: f32[m, 4], z: f32[k]) -> (f32[bcast(m, n), 4], f32[2, k//2]) {
  %0 = add(x, y) : f32[bcast(m, n), 4]
  %1 = reshape(z) {shape=[2, k//2]} : f32[2, k//2]
  return %0, %1
}
