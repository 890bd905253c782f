# RUN: fuse, segments
graph whole(x: f32[n, 8]) -> f32[n, 8] {
  %0 = exp(x)
  return %0
}
--------------------------------------------------------------------------------
graph whole(x: f32[n, 8]) -> f32[n, 8] {
  %0 = kernel(x)
    body(a0: f32[n, 8]) -> f32[n, 8] {
      %0 = exp(a0) : f32[n, 8]
      return %0
    } : f32[n, 8]
  return %0
}
