# RUN: dce
graph part(p: bool[], x: f32[n], y: f32[m]) -> f32[n] {
  %0 = exp(y)
  %1, %2, %3 = cond(p, x, %0) late [k <= max(m, n)]
    then(a0: f32[n], a1: f32[m]) -> (f32[n], f32[m], f32[n]) {
      %0 = neg(a0)
      return %0, a1, a0
    }
    else(a0: f32[n], a1: f32[m]) -> (f32[n], f32[m], f32[m]) {
      %0 = exp(a0)
      return %0, a1, a1
    }
  return %1
}
--------------------------------------------------------------------------------
graph part(p: bool[], x: f32[n], y: f32[m]) -> f32[n] {
  %0 = cond(p, x)
    then(a0: f32[n]) -> f32[n] {
      %0 = neg(a0) : f32[n]
      return %0
    }
    else(a0: f32[n]) -> f32[n] {
      %0 = exp(a0) : f32[n]
      return %0
    } : f32[n]
  return %0
}
