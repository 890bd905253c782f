# RUN: dce
graph inner(p: bool[], x: f32[n], y: f32[n]) -> f32[n] {
  %0 = cond(p, p, x, y)
    then(a0: bool[], a1: f32[n], a2: f32[n]) -> f32[n] {
      %0, %1 = cond(a0, a1, a2)
        then(a0: f32[n], a1: f32[n]) -> (f32[n], f32[n]) {
          return a0, a1
        }
        else(a0: f32[n], a1: f32[n]) -> (f32[n], f32[n]) {
          %0 = neg(a0)
          return %0, a1
        }
      return %0
    }
    else(a0: bool[], a1: f32[n], a2: f32[n]) -> f32[n] {
      return a1
    }
  return %0
}
--------------------------------------------------------------------------------
graph inner(p: bool[], x: f32[n], y: f32[n]) -> f32[n] {
  %0 = cond(p, p, x)
    then(a0: bool[], a1: f32[n]) -> f32[n] {
      %0 = cond(a0, a1)
        then(a0: f32[n]) -> f32[n] {
          return a0
        }
        else(a0: f32[n]) -> f32[n] {
          %0 = neg(a0) : f32[n]
          return %0
        } : f32[n]
      return %0
    }
    else(a0: bool[], a1: f32[n]) -> f32[n] {
      return a1
    } : f32[n]
  return %0
}
