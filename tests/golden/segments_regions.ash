# RUN: fuse, segments
axes { n: 0..1000 }
graph branches(p: bool[], x: f32[n], y: f32[n]) -> f32[n] {
  %0 = exp(x)
  %1 = neg(y)
  %2 = cond(p, %0, %1)
    then(a0: f32[n], a1: f32[n]) -> f32[n] {
      return a0
    }
    else(a0: f32[n], a1: f32[n]) -> f32[n] {
      %0 = add(a0, a1)
      %1, %2 = scan(%0, a1) {carried=1, scanned=1, length=n}
        body(a0: f32[n], a1: f32[]) -> (f32[n], f32[]) {
          %0 = mul(a0, a1)
          %1 = sum(%0) {axes=[0]}
          return %0, %1
        }
      %3 = add(%1, %2)
      return %3
    }
  %3 = mul(%2, %0)
  return %3
}
--------------------------------------------------------------------------------
axes { n: 0..1000 }
graph branches(p: bool[], x: f32[n], y: f32[n]) -> f32[n] {
  %0, %1 = segment(p, x, y)
    body(a0: bool[], a1: f32[n], a2: f32[n]) -> (f32[n], f32[n]) {
      %0 = kernel(a1)
        body(a0: f32[n]) -> f32[n] {
          %0 = exp(a0) : f32[n]
          return %0
        } : f32[n]
      %1 = kernel(a2)
        body(a0: f32[n]) -> f32[n] {
          %0 = neg(a0) : f32[n]
          return %0
        } : f32[n]
      return %0, %1
    } : (f32[n], f32[n])
  %2 = cond(p, %0, %1)
    then(a0: f32[n], a1: f32[n]) -> f32[n] {
      return a0
    }
    else(a0: f32[n], a1: f32[n]) -> f32[n] {
      %0 = segment(a0, a1)
        body(a0: f32[n], a1: f32[n]) -> f32[n] {
          %0 = kernel(a0, a1)
            body(a0: f32[n], a1: f32[n]) -> f32[n] {
              %0 = add(a0, a1) : f32[n]
              return %0
            } : f32[n]
          return %0
        } : f32[n]
      %1, %2 = scan(%0, a1) {carried=1, scanned=1, length=n}
        body(a0: f32[n], a1: f32[]) -> (f32[n], f32[]) {
          %0, %1 = segment(a0, a1)
            body(a0: f32[n], a1: f32[]) -> (f32[n], f32[]) {
              %0 = kernel(a0, a1)
                body(a0: f32[n], a1: f32[]) -> f32[n] {
                  %0 = mul(a0, a1) : f32[n]
                  return %0
                } : f32[n]
              %1 = kernel(%0)
                body(a0: f32[n]) -> f32[] {
                  %0 = sum(a0) {axes=[0]} : f32[]
                  return %0
                } : f32[]
              return %0, %1
            } : (f32[n], f32[])
          return %0, %1
        } : (f32[n], f32[n])
      %3 = segment(%1, %2)
        body(a0: f32[n], a1: f32[n]) -> f32[n] {
          %0 = kernel(a0, a1)
            body(a0: f32[n], a1: f32[n]) -> f32[n] {
              %0 = add(a0, a1) : f32[n]
              return %0
            } : f32[n]
          return %0
        } : f32[n]
      return %3
    } : f32[n]
  %3 = segment(%2, %0)
    body(a0: f32[n], a1: f32[n]) -> f32[n] {
      %0 = kernel(a0, a1)
        body(a0: f32[n], a1: f32[n]) -> f32[n] {
          %0 = mul(a0, a1) : f32[n]
          return %0
        } : f32[n]
      return %0
    } : f32[n]
  return %3
}
