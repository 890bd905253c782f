# RUN: fuse, kernels avx512
graph attended(q: f32[b, 2, s, 16], k: f32[b, 2, t, 16], v: f32[b, 2, t, 8]) -> f32[b, 2, s, 8] {
  %0 = attention(q, k, v) {causal=bottom_right}
  return %0
}
--------------------------------------------------------------------------------
# attention: tiles
kernel (n0, n1, n2; x0: f32[n0, 2, n1, 16], x1: f32[n0, 2, n2, 16], x2: f32[n0, 2, n2, 8], y0: f32[n0, 2, n1, 8] written) tasks t < 2*n0*((n1 + 63)//64) {
  scratch tile: f32[6, 64]
  scratch packed: f32[16, 64]
  scratch scores: f32[192, 64]
  scratch best: f32[64]
  scratch total: f32[64]
  scratch decay: f32[64]
  scratch sums: f32[64, 8]
  scratch zeros: f32[8]
  scratch flag: f32[1]
  b = index ((t//((n1 + 63)//64))//2) < n0
  h = index ((t//((n1 + 63)//64)) % 2) < 2
  q = index (t % ((n1 + 63)//64)) < (n1 + 63)//64
  g = index (h) < 2
  prepare for b, g {
    for c < 8 vector {
      for k < n2 - min(n2, max(0, n2 - n1 + min(n1, 64))) with hidden: f32 add {
        v0 = x2[b, g, k + min(n2, max(0, n2 - n1 + min(n1, 64))), c]
        hidden <- f32 mul(f32 0.0, v0)
      }
      zeros[c] = hidden
    }
    for c < 8 vector with flagged: f32 add {
      flagged <- zeros[c]
    }
    flag[0] = flagged
  }
  packed[:16, :min(n1 - 64*q, 64)] = x0[b of n0 by 32*n1, h of 2 by 16*n1, column + 64*q of n1 by 16, row of 16 by 1]
  for d < 16 {
    for j < min(n1 - 64*q, 64) vector {
      packed[d, j] = f32 mul(packed[d, j], f32 0.25)
    }
  }
  for j < min(n1 - 64*q, 64) vector {
    best[j] = f32 -inf
    total[j] = f32 0.0
  }
  for i < min(n1 - 64*q, 64) {
    for c < 8 vector {
      sums[i, c] = f32 0.0
    }
  }
  for s < (min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) + 191)//192 {
    for r < min((min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) + 5)//6, max(0, n2 - n1 + 64*q - 192*s + 1)//6) {
      tile[:min(min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) - 6*r, 6), :min(n1 - 64*q, 64)] = x1[b of n0 by 32*n2, g of 2 by 16*n2, 6*r + row + 192*s of n2 by 16, column of 16 by 1] @ packed[row of 16 by 64, column of 64 by 1] over 16
      for i < min(min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) - 6*r, 6) {
        for j < min(n1 - 64*q, 64) vector {
          scores[i + 6*r, j] = tile[i, j]
        }
      }
    }
    for r < (min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) + 5)//6 - min((min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) + 5)//6, max(0, n2 - n1 + 64*q - 192*s + 1)//6) {
      tile[:min(min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) - 6*r - 6*min((min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) + 5)//6, max(0, n2 - n1 + 64*q - 192*s + 1)//6), 6), :min(n1 - 64*q, 64)] = x1[b of n0 by 32*n2, g of 2 by 16*n2, 6*r + row + 192*s + 6*min((min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) + 5)//6, max(0, n2 - n1 + 64*q - 192*s + 1)//6) of n2 by 16, column of 16 by 1] @ packed[row of 16 by 64, column of 64 by 1] over 16
      for i < min(min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) - 6*r - 6*min((min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) + 5)//6, max(0, n2 - n1 + 64*q - 192*s + 1)//6), 6) {
        for j < min(n1 - 64*q, 64) vector {
          scores[i + 6*r + 6*min((min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) + 5)//6, max(0, n2 - n1 + 64*q - 192*s + 1)//6), j] = if i + 6*r + 192*s + 6*min((min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) + 5)//6, max(0, n2 - n1 + 64*q - 192*s + 1)//6) <= j - n1 + n2 + 64*q then tile[i, j] else f32 -inf
        }
      }
    }
    for j < min(n1 - 64*q, 64) vector {
      for k < min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) with top: f32 maximum {
        top <- scores[k, j]
      }
      old = best[j]
      new = f32 maximum(top, old)
      shift = f32 select(bool eq(new, f32 -inf), f32 0.0, new)
      shrunk = f32 exp(f32 sub(old, shift))
      for k < min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192) with added: f32 add {
        power = f32 exp(f32 sub(scores[k, j], shift))
        scores[k, j] = power
        added <- power
      }
      best[j] = new
      decay[j] = shrunk
      total[j] = f32 add(f32 mul(total[j], shrunk), added)
    }
    for p < 1 {
      for r < (min(n1 - 64*q, 64) + 5)//6 {
        tile[:min(min(n1 - 64*q, 64) - 6*r, 6), :min(8 - 64*p, 64)] = scores[column of 192 by 64, 6*r + row of 64 by 1] @ x2[b of n0 by 16*n2, g of 2 by 8*n2, row + 192*s of n2 by 8, column + 64*p of 8 by 1] over min(min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) - 192*s, 192)
        for i < min(min(n1 - 64*q, 64) - 6*r, 6) {
          for c < min(8 - 64*p, 64) vector {
            sums[i + 6*r, c + 64*p] = f32 add(f32 mul(sums[i + 6*r, c + 64*p], decay[i + 6*r]), tile[i, c])
          }
        }
      }
    }
  }
  a = index i64 cast(bool is_nan(flag[0])) < 2
  for o < a {
    for c < 8 vector {
      for k < n2 - min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))) with hidden: f32 add {
        v0 = x2[b, g, k + min(n2, max(0, n2 - n1 + 64*q + min(n1 - 64*q, 64))), c]
        hidden <- f32 mul(f32 0.0, v0)
      }
      for i < min(n1 - 64*q, 64) {
        sums[i, c] = f32 add(sums[i, c], hidden)
      }
    }
  }
  for i < min(n1 - 64*q, 64) {
    factor = f32 div(f32 1.0, f32 select(bool eq(total[i], f32 0.0), f32 1.0, total[i]))
    for c < 8 vector {
      v0 = f32 mul(sums[i, c], factor)
      y0[b, h, i + 64*q, c] = v0
    }
  }
}

# attention: few queries
kernel (n0, n1, n2; x0: f32[n0, 2, n1, 16], x1: f32[n0, 2, n2, 16], x2: f32[n0, 2, n2, 8], y0: f32[n0, 2, n1, 8] written) tasks t < 2*n0*((n1 + 5)//6) {
  scratch tile: f32[6, 64]
  scratch packed: f32[6, 16]
  scratch scores: f32[6, 512]
  scratch best: f32[6]
  scratch total: f32[6]
  scratch decay: f32[6]
  scratch sums: f32[6, 8]
  scratch zeros: f32[8]
  scratch flag: f32[1]
  b = index ((t//((n1 + 5)//6))//2) < n0
  g = index ((t//((n1 + 5)//6)) % 2) < 2
  q = index (t % ((n1 + 5)//6)) < (n1 + 5)//6
  prepare for b, g {
    for c < 8 vector {
      for k < n2 - min(n2, max(0, n2)) with hidden: f32 add {
        v0 = x2[b, g, k + min(n2, max(0, n2)), c]
        hidden <- f32 mul(f32 0.0, v0)
      }
      zeros[c] = hidden
    }
    for c < 8 vector with flagged: f32 add {
      flagged <- zeros[c]
    }
    flag[0] = flagged
  }
  for i < min(n1 - 6*q, 6) {
    h = index (g + (i + 6*q)//n1) < 2
    m = index ((i + 6*q) % n1) < n1
    for d < 16 vector {
      v0 = x0[b, h, m, d]
      packed[i, d] = f32 mul(v0, f32 0.25)
    }
  }
  for j < min(n1 - 6*q, 6) vector {
    best[j] = f32 -inf
    total[j] = f32 0.0
  }
  for i < min(n1 - 6*q, 6) {
    for c < 8 vector {
      sums[i, c] = f32 0.0
    }
  }
  for s < (min(n2, max(0, n2)) + 511)//512 {
    for k < min(min(n2, max(0, n2)) - 512*s, 512) {
      for i < min(n1 - 6*q, 6) {
        for d < 16 vector with product: f32 add {
          v0 = x1[b, g, k + 512*s, d]
          product <- f32 mul(packed[i, d], v0)
        }
        scores[i, k] = product
      }
    }
    for i < min(n1 - 6*q, 6) {
      h = index (g + (i + 6*q)//n1) < 2
      m = index ((i + 6*q) % n1) < n1
      for k < min(min(n2, max(0, n2)) - 512*s, 512) vector with top: f32 maximum {
        masked = if k + 512*s <= m - n1 + n2 then scores[i, k] else f32 -inf
        scores[i, k] = masked
        top <- masked
      }
      old = best[i]
      new = f32 maximum(top, old)
      shift = f32 select(bool eq(new, f32 -inf), f32 0.0, new)
      shrunk = f32 exp(f32 sub(old, shift))
      for k < min(min(n2, max(0, n2)) - 512*s, 512) vector with added: f32 add {
        power = f32 exp(f32 sub(scores[i, k], shift))
        scores[i, k] = power
        added <- power
      }
      best[i] = new
      decay[i] = shrunk
      total[i] = f32 add(f32 mul(total[i], shrunk), added)
    }
    for p < 1 {
      tile[:min(n1 - 6*q, 6), :min(8 - 64*p, 64)] = scores[row of 6 by 512, column of 512 by 1] @ x2[b of n0 by 16*n2, g of 2 by 8*n2, row + 512*s of n2 by 8, column + 64*p of 8 by 1] over min(min(n2, max(0, n2)) - 512*s, 512)
      for i < min(n1 - 6*q, 6) {
        for c < min(8 - 64*p, 64) vector {
          sums[i, c + 64*p] = f32 add(f32 mul(sums[i, c + 64*p], decay[i]), tile[i, c])
        }
      }
    }
  }
  a = index i64 cast(bool is_nan(flag[0])) < 2
  for o < a {
    for c < 8 vector {
      for k < n2 - min(n2, max(0, n2)) with hidden: f32 add {
        v0 = x2[b, g, k + min(n2, max(0, n2)), c]
        hidden <- f32 mul(f32 0.0, v0)
      }
      for i < min(n1 - 6*q, 6) {
        sums[i, c] = f32 add(sums[i, c], hidden)
      }
    }
  }
  for i < min(n1 - 6*q, 6) {
    h = index (g + (i + 6*q)//n1) < 2
    m = index ((i + 6*q) % n1) < n1
    factor = f32 div(f32 1.0, f32 select(bool eq(total[i], f32 0.0), f32 1.0, total[i]))
    for c < 8 vector {
      v0 = f32 mul(sums[i, c], factor)
      y0[b, h, m, c] = v0
    }
  }
}
