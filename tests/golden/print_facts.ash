# RUN: print
axes {
  batch: 1..64
  seq: 1..512 multiple_of 8 likely [128, 256]
  tile: 1..1 | 8..64
}
facts {
  out_seq == seq - 2   # user: examples/conv.py:12
  seq % heads == 0     # split
  a*b == c*d
  seq <= 8*tile
}
graph named(x: f32[batch, seq], y: f32[out_seq], z: f32[a, b], w: f32[c, d], h: i8[heads, tile]) -> (f32[batch, seq - 2], f32[c, d]) {
  %0 = slice(x) {starts=[0, 2], stops=[batch, seq], steps=[1, 1]}
  %1 = add(%0, y)
  %2 = reshape(z) {shape=[c, d]}
  %3 = add(%2, w)
  return %1, %3
}
--------------------------------------------------------------------------------
axes { batch: 1..64   seq: 1..512 multiple_of 8 likely [128, 256]   tile: 1..1 | 8..64 }
facts {
  out_seq == seq - 2  # user: examples/conv.py:12
  seq % heads == 0    # user: split
  a*b == c*d          # user
  seq <= 8*tile       # user
}
graph named(x: f32[batch, seq], y: f32[out_seq], z: f32[a, b], w: f32[c, d], h: i8[heads, tile]) -> (f32[batch, out_seq], f32[c, d]) {
  %0 = slice(x) {starts=[0, 2], stops=[batch, seq], steps=[1, 1]} : f32[batch, seq - 2]
  %1 = add(%0, y) : f32[batch, out_seq]
  %2 = reshape(z) {shape=[c, d]} : f32[c, d]
  %3 = add(%2, w) : f32[c, d]
  return %1, %3
}
