# RUN: fuse, kernels avx2
graph tiles(x: f32[n, h, w, 40], rest: f32[n, h, w, 24]) -> f32[n, h, w, 24] {
  %0 = constant() {value=@w0 f32[1, 3, 3, 40, 24] sha256:a0b9664535b59d85b93d2ac1af81affdb01cad1a27b0396628ee3276c84f1cf4}
  %1 = constant() {value=@w1 f32[16, 40, 24] sha256:22802d385e80d278067487007f235c0e53ac85f091deacb074f719fa26dfe8b0}
  %2 = winograd(x, %0, %1) {low=[1, 1], high=[1, 1], tile=2}
  %3 = add(%2, rest)
  return %3
}
--------------------------------------------------------------------------------
# winograd+add: direct
kernel (n0, n1, n2, br, bp, bt; x0: f32[n0, 1, n1, 40*n2], x1: f32[11520], x2: f32[15360], x3: f32[n0, n1, n2, 24], y0: f32[n0, n1, n2, 24] written) tasks t < 2*n0*((n1 - 1)//br)*((n2 - 1)//bp) + 2*n0*((n1 - 1)//br) + 2*n0*((n2 - 1)//bp) + 2*n0 {
  axis br: 1..
  axis bp: 1..
  axis bt: 1..
  fact 2 < n1 + 2
  fact 2 < n2 + 2
  scratch sums: f32[6, 16]
  scratch band: f32[1, br + 2, 40*bp + 80]
  q = index (((t//2)//((n2 - 1)//bp + 1))//((n1 - 1)//br + 1)) < max(n0, 1)
  d = index (0) < 1
  b = index (((t//2)//((n2 - 1)//bp + 1)) % ((n1 - 1)//br + 1)) < max((n1 - 1)//br + 1, 1)
  e = index ((t//2) % ((n2 - 1)//bp + 1)) < max((n2 - 1)//bp + 1, 1)
  g = index (0) < 1
  p = index (t % 2) < 2
  fr = index (b*br) < n1
  h = index (min(br, n1 - fr)) < min(br, n1 - fr) + 1
  fp = index (bp*e) < n2
  l = index (min(bp, n2 - fp)) < min(bp, n2 - fp) + 1
  w = index (min(24 - 16*p, 16)) < min(24 - 16*p, 16) + 1
  prepare for q, d, b, e {
    for kd < 1 {
      for s < h + 2 {
        for u < 40*l + 80 vector {
          band[kd, s, u] = if 0 <= d + kd and d + kd < 1 and 0 <= fr + s - 1 and fr + s - 1 < n1 and 0 <= 40*fp + u - 40 and 40*fp + u - 40 < 40*n2 then x0[q, d + kd, fr + s - 1, 40*fp + u - 40] else f32 0.0
        }
      }
    }
  }
  for y < h {
    for r < (l + 5)//6 {
      f = index ((l*r)//max((l + 5)//6, 1)) < max(l, 1)
      m = index ((l*r + l)//max((l + 5)//6, 1) - f) < min(l - f, 6) + 1
      for i < m {
        for j < 16 vector {
          sums[i, j] = f32 0.0
        }
      }
      for kd < 1 {
        for kh < 3 {
          sums[:m, :w] += band[kd of 1 by 40*bp*br + 80*bp + 80*br + 160, kh + y of br + 2 by 40*bp + 80, column + 40*f + 40*row of 40*bp + 80 by 1] @ x1[g of 1 by 11520, p of 2 by 5760, 3*kd + kh of 3 by 1920, row of 120 by 16, column of 16 by 1] padded over 120
        }
      }
      for i < m {
        for j < w vector {
          v0 = sums[i, j]
          v1 = x3[q, fr + y, f + fp + i, 24*g + j + 16*p]
          v2 = f32 add(v0, v1)
          y0[q, fr + y, f + fp + i, 24*g + j + 16*p] = v2
        }
      }
    }
  }
}

# winograd+add: winograd
kernel (n0, n1, n2, br, bp, bt; x0: f32[n0, n1, n2, 40], x1: f32[2, 360, 16], x2: f32[20480], x3: f32[n0, n1, n2, 24], y0: f32[n0, n1, n2, 24] written) tasks t < 2*((n0*((n1 + 1)//2)*((n2 + 1)//2) - 1)//bt)*min(n0, 1) + 2*min(n0, 1) {
  axis br: 1..
  axis bp: 1..
  axis bt: 1..
  fact 2 < n1 + 2
  fact 2 < n2 + 2
  scratch patches: f32[16, bt, 40]
  scratch products: f32[16, 6, 16]
  scratch tiles: f32[6, 4, 16]
  b = index (t//2) < max((n0*((n1 + 1)//2)*((n2 + 1)//2) - 1)//bt + 1, 1)
  p = index (t % 2) < 2
  ft = index (b*bt) < max(n0*((n1 + 1)//2)*((n2 + 1)//2), 1)
  nt = index (min(n0*((n1 + 1)//2)*((n2 + 1)//2) - ft, bt)) < bt + 1
  w = index (min(24 - 16*p, 16)) < min(24 - 16*p, 16) + 1
  prepare for b {
    for r < nt {
      q = index ((ft + r)//(((n1 + 1)//2)*((n2 + 1)//2))) < max(n0, 1)
      tr = index (((ft + r)//((n2 + 1)//2)) % ((n1 + 1)//2)) < (n1 + 1)//2
      tc = index ((ft + r) % ((n2 + 1)//2)) < (n2 + 1)//2
      for c < 40 vector {
        v0 = if 0 <= 2*tr - 1 and 2*tr - 1 < n1 and 0 <= 2*tc - 1 and 2*tc - 1 < n2 then x0[q, 2*tr - 1, 2*tc - 1, c] else f32 0.0
        v1 = if 0 <= 2*tr and 2*tr < n1 and 0 <= 2*tc - 1 and 2*tc - 1 < n2 then x0[q, 2*tr, 2*tc - 1, c] else f32 0.0
        v2 = if 0 <= 2*tr + 1 and 2*tr + 1 < n1 and 0 <= 2*tc - 1 and 2*tc - 1 < n2 then x0[q, 2*tr + 1, 2*tc - 1, c] else f32 0.0
        v3 = if 0 <= 2*tr + 2 and 2*tr + 2 < n1 and 0 <= 2*tc - 1 and 2*tc - 1 < n2 then x0[q, 2*tr + 2, 2*tc - 1, c] else f32 0.0
        v4 = f32 add(f32 mul(v0, f32 -1.0), v2)
        v5 = f32 add(f32 mul(v1, f32 -1.0), v3)
        v6 = f32 add(v2, v1)
        v7 = f32 sub(v2, v1)
        v8 = if 0 <= 2*tr - 1 and 2*tr - 1 < n1 and 0 <= 2*tc and 2*tc < n2 then x0[q, 2*tr - 1, 2*tc, c] else f32 0.0
        v9 = if 0 <= 2*tr and 2*tr < n1 and 0 <= 2*tc and 2*tc < n2 then x0[q, 2*tr, 2*tc, c] else f32 0.0
        v10 = if 0 <= 2*tr + 1 and 2*tr + 1 < n1 and 0 <= 2*tc and 2*tc < n2 then x0[q, 2*tr + 1, 2*tc, c] else f32 0.0
        v11 = if 0 <= 2*tr + 2 and 2*tr + 2 < n1 and 0 <= 2*tc and 2*tc < n2 then x0[q, 2*tr + 2, 2*tc, c] else f32 0.0
        v12 = f32 add(f32 mul(v8, f32 -1.0), v10)
        v13 = f32 add(f32 mul(v9, f32 -1.0), v11)
        v14 = f32 add(v10, v9)
        v15 = f32 sub(v10, v9)
        v16 = if 0 <= 2*tr - 1 and 2*tr - 1 < n1 and 0 <= 2*tc + 1 and 2*tc + 1 < n2 then x0[q, 2*tr - 1, 2*tc + 1, c] else f32 0.0
        v17 = if 0 <= 2*tr and 2*tr < n1 and 0 <= 2*tc + 1 and 2*tc + 1 < n2 then x0[q, 2*tr, 2*tc + 1, c] else f32 0.0
        v18 = if 0 <= 2*tr + 1 and 2*tr + 1 < n1 and 0 <= 2*tc + 1 and 2*tc + 1 < n2 then x0[q, 2*tr + 1, 2*tc + 1, c] else f32 0.0
        v19 = if 0 <= 2*tr + 2 and 2*tr + 2 < n1 and 0 <= 2*tc + 1 and 2*tc + 1 < n2 then x0[q, 2*tr + 2, 2*tc + 1, c] else f32 0.0
        v20 = f32 add(f32 mul(v16, f32 -1.0), v18)
        v21 = f32 add(f32 mul(v17, f32 -1.0), v19)
        v22 = f32 add(v18, v17)
        v23 = f32 sub(v18, v17)
        v24 = if 0 <= 2*tr - 1 and 2*tr - 1 < n1 and 0 <= 2*tc + 2 and 2*tc + 2 < n2 then x0[q, 2*tr - 1, 2*tc + 2, c] else f32 0.0
        v25 = if 0 <= 2*tr and 2*tr < n1 and 0 <= 2*tc + 2 and 2*tc + 2 < n2 then x0[q, 2*tr, 2*tc + 2, c] else f32 0.0
        v26 = if 0 <= 2*tr + 1 and 2*tr + 1 < n1 and 0 <= 2*tc + 2 and 2*tc + 2 < n2 then x0[q, 2*tr + 1, 2*tc + 2, c] else f32 0.0
        v27 = if 0 <= 2*tr + 2 and 2*tr + 2 < n1 and 0 <= 2*tc + 2 and 2*tc + 2 < n2 then x0[q, 2*tr + 2, 2*tc + 2, c] else f32 0.0
        v28 = f32 add(f32 mul(v24, f32 -1.0), v26)
        v29 = f32 add(f32 mul(v25, f32 -1.0), v27)
        v30 = f32 add(v26, v25)
        v31 = f32 sub(v26, v25)
        v32 = f32 add(f32 mul(v4, f32 -1.0), v20)
        v33 = f32 add(f32 mul(v12, f32 -1.0), v28)
        v34 = f32 add(v20, v12)
        v35 = f32 sub(v20, v12)
        patches[0, r, c] = v32
        patches[1, r, c] = v34
        patches[2, r, c] = v35
        patches[3, r, c] = v33
        v40 = f32 add(f32 mul(v6, f32 -1.0), v22)
        v41 = f32 add(f32 mul(v14, f32 -1.0), v30)
        v42 = f32 add(v22, v14)
        v43 = f32 sub(v22, v14)
        patches[4, r, c] = v40
        patches[5, r, c] = v42
        patches[6, r, c] = v43
        patches[7, r, c] = v41
        v48 = f32 add(f32 mul(v7, f32 -1.0), v23)
        v49 = f32 add(f32 mul(v15, f32 -1.0), v31)
        v50 = f32 add(v23, v15)
        v51 = f32 sub(v23, v15)
        patches[8, r, c] = v48
        patches[9, r, c] = v50
        patches[10, r, c] = v51
        patches[11, r, c] = v49
        v56 = f32 add(f32 mul(v5, f32 -1.0), v21)
        v57 = f32 add(f32 mul(v13, f32 -1.0), v29)
        v58 = f32 add(v21, v13)
        v59 = f32 sub(v21, v13)
        patches[12, r, c] = v56
        patches[13, r, c] = v58
        patches[14, r, c] = v59
        patches[15, r, c] = v57
      }
    }
  }
  for g < (nt + 5)//6 {
    f = index ((g*nt)//max((nt + 5)//6, 1)) < max(nt, 1)
    m = index ((g*nt + nt)//max((nt + 5)//6, 1) - f) < min(nt - f, 6) + 1
    for z < 16 {
      products[:m, :w] at [z] = patches[z of 16 by 40*bt, f + row of bt by 40, column of 40 by 1] @ x2[z of 16 by 1280, p of 2 by 640, row of 40 by 16, column of 16 by 1] padded over 40
    }
    for r < m with bad: f32 add {
      for j < w vector with some: f32 add {
        v0 = products[0, r, j]
        v1 = products[4, r, j]
        v2 = products[8, r, j]
        v3 = products[12, r, j]
        v4 = f32 add(v1, v2)
        v5 = f32 sub(v1, v2)
        v6 = f32 add(v0, v4)
        v7 = f32 add(v3, v5)
        v8 = products[1, r, j]
        v9 = products[5, r, j]
        v10 = products[9, r, j]
        v11 = products[13, r, j]
        v12 = f32 add(v9, v10)
        v13 = f32 sub(v9, v10)
        v14 = f32 add(v8, v12)
        v15 = f32 add(v11, v13)
        v16 = products[2, r, j]
        v17 = products[6, r, j]
        v18 = products[10, r, j]
        v19 = products[14, r, j]
        v20 = f32 add(v17, v18)
        v21 = f32 sub(v17, v18)
        v22 = f32 add(v16, v20)
        v23 = f32 add(v19, v21)
        v24 = products[3, r, j]
        v25 = products[7, r, j]
        v26 = products[11, r, j]
        v27 = products[15, r, j]
        v28 = f32 add(v25, v26)
        v29 = f32 sub(v25, v26)
        v30 = f32 add(v24, v28)
        v31 = f32 add(v27, v29)
        v32 = f32 add(v14, v22)
        v33 = f32 sub(v14, v22)
        v34 = f32 add(v6, v32)
        v35 = f32 add(v30, v33)
        v36 = f32 add(v15, v23)
        v37 = f32 sub(v15, v23)
        v38 = f32 add(v7, v36)
        v39 = f32 add(v31, v37)
        tiles[r, 0, j] = v34
        tiles[r, 1, j] = v35
        tiles[r, 2, j] = v38
        tiles[r, 3, j] = v39
        v44 = f32 add(v34, v35)
        v45 = f32 add(v44, v38)
        v46 = f32 add(v45, v39)
        some <- f32 mul(v46, f32 0.0)
      }
      bad <- some
    }
    a = index i64 cast(bool is_nan(bad)) < 2
    for o < a {
      for r < m {
        q = index ((f + ft + r)//(((n1 + 1)//2)*((n2 + 1)//2))) < max(n0, 1)
        tr = index (((f + ft + r)//((n2 + 1)//2)) % ((n1 + 1)//2)) < (n1 + 1)//2
        tc = index ((f + ft + r) % ((n2 + 1)//2)) < (n2 + 1)//2
        for y < 2 {
          for x < 2 {
            for j < w vector {
              for kh < 3 with total: f32 add {
                for kw < 3 {
                  for c < 40 {
                    total <- f32 mul(if 0 <= kh + 2*tr + y - 1 and kh + 2*tr + y - 1 < n1 and 0 <= kw + 2*tc + x - 1 and kw + 2*tc + x - 1 < n2 then x0[q, kh + 2*tr + y - 1, kw + 2*tc + x - 1, c] else f32 0.0, x1[p, c + 120*kh + 40*kw, j])
                  }
                }
              }
              tiles[r, x + 2*y, j] = total
            }
          }
        }
      }
    }
    for r < m {
      q = index ((f + ft + r)//(((n1 + 1)//2)*((n2 + 1)//2))) < max(n0, 1)
      tr = index (((f + ft + r)//((n2 + 1)//2)) % ((n1 + 1)//2)) < (n1 + 1)//2
      tc = index ((f + ft + r) % ((n2 + 1)//2)) < (n2 + 1)//2
      nr = index (min(n1 - 2*tr, 2)) < min(n1 - 2*tr, 2) + 1
      nc = index (min(n2 - 2*tc, 2)) < min(n2 - 2*tc, 2) + 1
      for y < nr {
        for x < nc {
          for j < w vector {
            v0 = tiles[r, x + 2*y, j]
            v1 = x3[q, 2*tr + y, 2*tc + x, j + 16*p]
            v2 = f32 add(v0, v1)
            y0[q, 2*tr + y, 2*tc + x, j + 16*p] = v2
          }
        }
      }
    }
  }
}
