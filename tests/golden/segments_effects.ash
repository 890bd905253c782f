# RUN: fuse, segments
graph keys(t: token, x: f32[n]) -> (u32[n], token) {
  %0, %1 = entropy(t)
  %2, %3 = entropy(%1)
  %4 = bitwise_xor(%0, %2)
  %5 = random_bits(%4) {shape=[n]}
  return %5, %3
}
--------------------------------------------------------------------------------
graph keys(t: token, x: f32[n]) -> (u32[n], token) {
  %0, %1 = entropy(t) : (u32[2], token)
  %2, %3 = entropy(%1) : (u32[2], token)
  %4 = segment(%0, %2)
    body(a0: u32[2], a1: u32[2]) -> u32[n] {
      %0 = kernel(a0, a1)
        body(a0: u32[2], a1: u32[2]) -> u32[n] {
          %0 = bitwise_xor(a0, a1) : u32[2]
          %1 = random_bits(%0) {shape=[n]} : u32[n]
          return %1
        } : u32[n]
      return %0
    } : u32[n]
  return %4, %3
}
