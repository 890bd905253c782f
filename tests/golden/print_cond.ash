# RUN: print
graph choose(p: bool[], x: f32[n, 4], y: f32[m, 4]) -> f32[k, 4] {
  %0 = cond(p, x, y) late [k <= max(m, n)]
    then(a0: f32[n, 4], a1: f32[m, 4]) -> f32[n, 4] {
      %0 = exp(a0)
      return %0
    }
    else(a0: f32[n, 4], a1: f32[m, 4]) -> f32[m, 4] {
      %0 = neg(a1)
      return %0
    }
  return %0
}
--------------------------------------------------------------------------------
graph choose(p: bool[], x: f32[n, 4], y: f32[m, 4]) -> f32[k, 4] {
  %0 = cond(p, x, y) late [k <= max(m, n)]
    then(a0: f32[n, 4], a1: f32[m, 4]) -> f32[n, 4] {
      %0 = exp(a0) : f32[n, 4]
      return %0
    }
    else(a0: f32[n, 4], a1: f32[m, 4]) -> f32[m, 4] {
      %0 = neg(a1) : f32[m, 4]
      return %0
    } : f32[k, 4]
  return %0
}
