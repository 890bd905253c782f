# RUN: fuse, kernels avx512
graph turned(x: f32[rows, columns]) -> f32[columns, rows] {
  %0 = transpose(x) {perm=[1, 0]}
  %1 = neg(%0)
  return %1
}
--------------------------------------------------------------------------------
# transpose+neg
kernel (n0, n1; x0: f32[n0*n1], y0: f32[n0*n1] written) tasks t < ((n0 + 255)//256)*((n1 + 15)//16) {
  scratch tile0: f32[16, 256]
  streams if (n0*n1)//6291456
  s = index (t//((n1 + 15)//16)) < (n0 + 255)//256
  p = index (t % ((n1 + 15)//16)) < (n1 + 15)//16
  tile0[:min(n1 - 16*p, 16), :min(n0 - 256*s, 256)] = x0[16*p + row of n1 by 1, column + 256*s of n0 by n1]
  for i < min(n1 - 16*p, 16) {
    for j < min(n0 - 256*s, 256) vector {
      v0 = tile0[i, j]
      v1 = f32 neg(v0)
      y0[i*n0 + 16*n0*p + j + 256*s] = v1
    }
  }
}
