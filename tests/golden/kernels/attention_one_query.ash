# RUN: fuse, kernels avx512
# RUN: fuse, kernels avx2
# RUN: fuse, kernels sse2
graph decoded(q: f32[b, 4, 1, 16], k: f32[b, 2, t, 16], v: f32[b, 2, t, 8]) -> f32[b, 4, 1, 8] {
  %0 = attention(q, k, v)
  return %0
}
--------------------------------------------------------------------------------
# attention
kernel (n0, n1; x0: f32[n0, 4, 1, 16], x1: f32[n0, 2, n1, 16], x2: f32[n0, 2, n1, 8], y0: f32[n0, 4, 1, 8] written) tasks t < 2*n0 {
  scratch tile: f32[6, 64]
  scratch packed: f32[6, 16]
  scratch scores: f32[6, 512]
  scratch best: f32[6]
  scratch total: f32[6]
  scratch decay: f32[6]
  scratch sums: f32[6, 8]
  b = index (t//2) < n0
  g = index (t % 2) < 2
  q = index (0) < 1
  for i < min(2 - 6*q, 6) {
    h = index (2*g + i + 6*q) < 4
    m = index (0) < 1
    for d < 16 vector {
      v0 = x0[b, h, m, d]
      packed[i, d] = f32 mul(v0, f32 0.25)
    }
  }
  for j < min(2 - 6*q, 6) vector {
    best[j] = f32 -inf
    total[j] = f32 0.0
  }
  for i < min(2 - 6*q, 6) {
    for c < 8 vector {
      sums[i, c] = f32 0.0
    }
  }
  for s < (n1 + 511)//512 {
    for k < min(n1 - 512*s, 512) {
      for i < min(2 - 6*q, 6) {
        for d < 16 vector with product: f32 add {
          v0 = x1[b, g, k + 512*s, d]
          product <- f32 mul(packed[i, d], v0)
        }
        scores[i, k] = product
      }
    }
    for i < min(2 - 6*q, 6) {
      h = index (2*g + i + 6*q) < 4
      m = index (0) < 1
      for k < min(n1 - 512*s, 512) vector with top: f32 maximum {
        top <- scores[i, k]
      }
      old = best[i]
      new = f32 maximum(top, old)
      shift = f32 select(bool eq(new, f32 -inf), f32 0.0, new)
      shrunk = f32 exp(f32 sub(old, shift))
      for k < min(n1 - 512*s, 512) vector with added: f32 add {
        power = f32 exp(f32 sub(scores[i, k], shift))
        scores[i, k] = power
        added <- power
      }
      best[i] = new
      decay[i] = shrunk
      total[i] = f32 add(f32 mul(total[i], shrunk), added)
    }
    for p < 1 {
      tile[:min(2 - 6*q, 6), :min(8 - 64*p, 64)] = scores[row of 6 by 512, column of 512 by 1] @ x2[b of n0 by 16*n1, g of 2 by 8*n1, row + 512*s of n1 by 8, column + 64*p of 8 by 1] over min(n1 - 512*s, 512)
      for i < min(2 - 6*q, 6) {
        for c < min(8 - 64*p, 64) vector {
          sums[i, c + 64*p] = f32 add(f32 mul(sums[i, c + 64*p], decay[i]), tile[i, c])
        }
      }
    }
  }
  for i < min(2 - 6*q, 6) {
    h = index (2*g + i + 6*q) < 4
    m = index (0) < 1
    factor = f32 div(f32 1.0, f32 select(bool eq(total[i], f32 0.0), f32 1.0, total[i]))
    for c < 8 vector {
      v0 = f32 mul(sums[i, c], factor)
      y0[b, h, m, c] = v0
    }
  }
}
--------------------------------------------------------------------------------
# attention
kernel (n0, n1; x0: f32[n0, 4, 1, 16], x1: f32[n0, 2, n1, 16], x2: f32[n0, 2, n1, 8], y0: f32[n0, 4, 1, 8] written) tasks t < 2*n0 {
  scratch tile: f32[6, 16]
  scratch packed: f32[6, 16]
  scratch scores: f32[6, 512]
  scratch best: f32[6]
  scratch total: f32[6]
  scratch decay: f32[6]
  scratch sums: f32[6, 8]
  b = index (t//2) < n0
  g = index (t % 2) < 2
  q = index (0) < 1
  for i < min(2 - 6*q, 6) {
    h = index (2*g + i + 6*q) < 4
    m = index (0) < 1
    for d < 16 vector {
      v0 = x0[b, h, m, d]
      packed[i, d] = f32 mul(v0, f32 0.25)
    }
  }
  for j < min(2 - 6*q, 6) vector {
    best[j] = f32 -inf
    total[j] = f32 0.0
  }
  for i < min(2 - 6*q, 6) {
    for c < 8 vector {
      sums[i, c] = f32 0.0
    }
  }
  for s < (n1 + 511)//512 {
    for k < min(n1 - 512*s, 512) {
      for i < min(2 - 6*q, 6) {
        for d < 16 vector with product: f32 add {
          v0 = x1[b, g, k + 512*s, d]
          product <- f32 mul(packed[i, d], v0)
        }
        scores[i, k] = product
      }
    }
    for i < min(2 - 6*q, 6) {
      h = index (2*g + i + 6*q) < 4
      m = index (0) < 1
      for k < min(n1 - 512*s, 512) vector with top: f32 maximum {
        top <- scores[i, k]
      }
      old = best[i]
      new = f32 maximum(top, old)
      shift = f32 select(bool eq(new, f32 -inf), f32 0.0, new)
      shrunk = f32 exp(f32 sub(old, shift))
      for k < min(n1 - 512*s, 512) vector with added: f32 add {
        power = f32 exp(f32 sub(scores[i, k], shift))
        scores[i, k] = power
        added <- power
      }
      best[i] = new
      decay[i] = shrunk
      total[i] = f32 add(f32 mul(total[i], shrunk), added)
    }
    for p < 1 {
      tile[:min(2 - 6*q, 6), :min(8 - 16*p, 16)] = scores[row of 6 by 512, column of 512 by 1] @ x2[b of n0 by 16*n1, g of 2 by 8*n1, row + 512*s of n1 by 8, column + 16*p of 8 by 1] over min(n1 - 512*s, 512)
      for i < min(2 - 6*q, 6) {
        for c < min(8 - 16*p, 16) vector {
          sums[i, c + 16*p] = f32 add(f32 mul(sums[i, c + 16*p], decay[i]), tile[i, c])
        }
      }
    }
  }
  for i < min(2 - 6*q, 6) {
    h = index (2*g + i + 6*q) < 4
    m = index (0) < 1
    factor = f32 div(f32 1.0, f32 select(bool eq(total[i], f32 0.0), f32 1.0, total[i]))
    for c < 8 vector {
      v0 = f32 mul(sums[i, c], factor)
      y0[b, h, m, c] = v0
    }
  }
}
--------------------------------------------------------------------------------
# attention
kernel (n0, n1; x0: f32[n0, 4, 1, 16], x1: f32[n0, 2, n1, 16], x2: f32[n0, 2, n1, 8], y0: f32[n0, 4, 1, 8] written) tasks t < 2*n0 {
  scratch tile: f32[6, 8]
  scratch packed: f32[6, 16]
  scratch scores: f32[6, 512]
  scratch best: f32[6]
  scratch total: f32[6]
  scratch decay: f32[6]
  scratch sums: f32[6, 8]
  b = index (t//2) < n0
  g = index (t % 2) < 2
  q = index (0) < 1
  for i < min(2 - 6*q, 6) {
    h = index (2*g + i + 6*q) < 4
    m = index (0) < 1
    for d < 16 vector {
      v0 = x0[b, h, m, d]
      packed[i, d] = f32 mul(v0, f32 0.25)
    }
  }
  for j < min(2 - 6*q, 6) vector {
    best[j] = f32 -inf
    total[j] = f32 0.0
  }
  for i < min(2 - 6*q, 6) {
    for c < 8 vector {
      sums[i, c] = f32 0.0
    }
  }
  for s < (n1 + 511)//512 {
    for k < min(n1 - 512*s, 512) {
      for i < min(2 - 6*q, 6) {
        for d < 16 vector with product: f32 add {
          v0 = x1[b, g, k + 512*s, d]
          product <- f32 mul(packed[i, d], v0)
        }
        scores[i, k] = product
      }
    }
    for i < min(2 - 6*q, 6) {
      h = index (2*g + i + 6*q) < 4
      m = index (0) < 1
      for k < min(n1 - 512*s, 512) vector with top: f32 maximum {
        top <- scores[i, k]
      }
      old = best[i]
      new = f32 maximum(top, old)
      shift = f32 select(bool eq(new, f32 -inf), f32 0.0, new)
      shrunk = f32 exp(f32 sub(old, shift))
      for k < min(n1 - 512*s, 512) vector with added: f32 add {
        power = f32 exp(f32 sub(scores[i, k], shift))
        scores[i, k] = power
        added <- power
      }
      best[i] = new
      decay[i] = shrunk
      total[i] = f32 add(f32 mul(total[i], shrunk), added)
    }
    for p < 1 {
      tile[:min(2 - 6*q, 6), :min(8 - 8*p, 8)] = scores[row of 6 by 512, column of 512 by 1] @ x2[b of n0 by 16*n1, g of 2 by 8*n1, row + 512*s of n1 by 8, column + 8*p of 8 by 1] over min(n1 - 512*s, 512)
      for i < min(2 - 6*q, 6) {
        for c < min(8 - 8*p, 8) vector {
          sums[i, c + 8*p] = f32 add(f32 mul(sums[i, c + 8*p], decay[i]), tile[i, c])
        }
      }
    }
  }
  for i < min(2 - 6*q, 6) {
    h = index (2*g + i + 6*q) < 4
    m = index (0) < 1
    factor = f32 div(f32 1.0, f32 select(bool eq(total[i], f32 0.0), f32 1.0, total[i]))
    for c < 8 vector {
      v0 = f32 mul(sums[i, c], factor)
      y0[b, h, m, c] = v0
    }
  }
}
