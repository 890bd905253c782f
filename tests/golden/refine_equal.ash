# RUN: refine
# RUN: refine, canonicalize
axes { a: 1..64   b: 2..   c: 0..96 multiple_of 6   e: 2.. }
facts {
  a == b                # user: kv == seq
  c == 3*a              # user
  broadcastable(e, 10)  # op: add: operands must broadcast at axis 0
}
graph f(x: f32[a, 8], y: f32[b, 8], z: f32[c, 8], r: f32[e], t: f32[10]) -> (f32[c, 8], f32[bcast(a, b), 8], f32[10]) {
  %0 = concat(x, y, x) {axis=0} : f32[2*a + b, 8]
  %1 = broadcast(%0) {shape=[c, 8]} : f32[c, 8]
  %2 = add(%1, z) : f32[c, 8]
  %3 = add(x, y) : f32[bcast(a, b), 8]
  %4 = add(r, t) : f32[10]
  return %2, %3, %4
}
--------------------------------------------------------------------------------
axes { a: 2..32 multiple_of 2 }
graph f(x: f32[a, 8], y: f32[a, 8], z: f32[3*a, 8], r: f32[10], t: f32[10]) -> (f32[3*a, 8], f32[a, 8], f32[10]) {
  %0 = concat(x, y, x) {axis=0} : f32[3*a, 8]
  %1 = broadcast(%0) {shape=[3*a, 8]} : f32[3*a, 8]
  %2 = add(%1, z) : f32[3*a, 8]
  %3 = add(x, y) : f32[a, 8]
  %4 = add(r, t) : f32[10]
  return %2, %3, %4
}
--------------------------------------------------------------------------------
axes { a: 2..32 multiple_of 2 }
graph f(x: f32[a, 8], y: f32[a, 8], z: f32[3*a, 8], r: f32[10], t: f32[10]) -> (f32[3*a, 8], f32[a, 8], f32[10]) {
  %0 = concat(x, y, x) {axis=0} : f32[3*a, 8]
  %1 = add(%0, z) : f32[3*a, 8]
  %2 = add(x, y) : f32[a, 8]
  %3 = add(r, t) : f32[10]
  return %1, %2, %3
}
