// Transforms of real lines. Included once for each instruction set: see fft_vectors.h.
//
// Side by side, two lines are the parts of one complex line. Alone, a line of even length is half
// as many complex numbers; one of odd length has zeros for its imaginary parts.
#pragma once

#include "core/fft_lines.h"

namespace anyshape::ANYSHAPE_FFT_ISA {

template <typename T, int W>
struct RealLines : Lines<T, W> {
    using typename Vectors<T, W>::V;
    using typename Vectors<T, W>::C;
    static constexpr int units = Vectors<T, W>::units, block = Vectors<T, W>::block;

    static void forward(const FftJob<T>& job) {
        const std::int64_t width = 2 * (job.length / 2 + 1);
        if (job.side_by_side) {
            for (std::int64_t at = job.first; at < job.last; at += 2 * W) forward_tile(job, at, width);
            return;
        }
        for (std::int64_t at = job.first; at < job.last; ++at) {
            const T* x = job.x + at * job.length;
            T* y = job.y + at * width;
            job.length % 2 == 0 ? forward_even(job, x, y) : forward_odd(job, x, y);
        }
    }

    static void backward(const FftJob<T>& job) {
        const std::int64_t width = 2 * (job.length / 2 + 1);
        if (job.side_by_side) {
            for (std::int64_t at = job.first; at < job.last; at += 2 * W) backward_tile(job, at, width);
            return;
        }
        for (std::int64_t at = job.first; at < job.last; ++at) {
            const T* x = job.x + at * width;
            T* y = job.y + at * job.length;
            job.length % 2 == 0 ? backward_even(job, x, y) : backward_odd(job, x, y);
        }
    }

   private:
    // --- 2 W lines: those of the first W are real parts, the others imaginary ones -----------------

    static void forward_tile(const FftJob<T>& job, std::int64_t first, std::int64_t width) {
        const std::int64_t length = job.length, half = length / 2;
        const T* from[2 * W];
        T* to[2 * W];
        for (int i = 0; i < 2 * W; ++i) {
            const bool inside = first + i < job.last;
            from[i] = job.x + (inside ? first + i : first) * length;
            const std::int64_t line = first + i / W * W + lane_of(i % W);  // units are stored
            to[i] = line < job.last ? job.y + line * width : nullptr;
        }
        auto* data = reinterpret_cast<V*>(job.work);
        load_real(from, length, data);
        load_real(from + W, length, data + 1);
        V* const done = RealLines::run(job.lanes, data, data + 2 * length);
        V* const one = done == data ? data + 2 * length : data;  // [half + 1] each
        V* const other = data + 4 * length;
        for (std::int64_t k = 0; k <= half; ++k) {
            const std::int64_t mirror = k == 0 ? 0 : length - k;
            const V re = done[2 * k], im = done[2 * k + 1];
            const V mirrored_re = done[2 * mirror], mirrored_im = done[2 * mirror + 1];
            one[2 * k] = T(0.5) * (re + mirrored_re);
            one[2 * k + 1] = T(0.5) * (im - mirrored_im);
            other[2 * k] = T(0.5) * (im + mirrored_im);
            other[2 * k + 1] = T(0.5) * (mirrored_re - re);
        }
        RealLines::store_rows(one, half + 1, to, false, job.scale);
        RealLines::store_rows(other, half + 1, to + W, false, job.scale);
    }

    static void backward_tile(const FftJob<T>& job, std::int64_t first, std::int64_t width) {
        const std::int64_t length = job.length, half = length / 2;
        const T* from[2 * W];
        T* to[2 * W];
        for (int i = 0; i < 2 * W; ++i) {
            const bool inside = first + i < job.last;
            from[i] = job.x + (inside ? first + i : first) * width;
            const std::int64_t line = first + i / W * W + fft_column_of_lane(i % W, W, block);
            to[i] = line < job.last ? job.y + line * length : nullptr;
        }
        auto* data = reinterpret_cast<V*>(job.work);
        V* const one = data + 2 * length;
        V* const other = data + 4 * length;
        RealLines::load_rows(from, half + 1, one, false);
        RealLines::load_rows(from + W, half + 1, other, false);
        for (std::int64_t k = 0; k <= half; ++k) {
            const bool is_real = k == 0 || 2 * k == length;
            const V a_re = one[2 * k], b_re = other[2 * k];
            const V a_im = is_real ? V{} : one[2 * k + 1], b_im = is_real ? V{} : other[2 * k + 1];
            // Parts are exchanged: the transform is the inverse one.
            data[2 * k + 1] = a_re - b_im;
            data[2 * k] = a_im + b_re;
            if (k == 0) continue;
            data[2 * (length - k) + 1] = a_re + b_im;
            data[2 * (length - k)] = b_re - a_im;
        }
        const V* done = RealLines::run(job.lanes, data, data + 2 * length);
        store_real(done + 1, length, to, job.scale);
        store_real(done, length, to + W, job.scale);
    }

    // Which lane a unit of the two halves of complex vectors belongs to.
    static constexpr std::int64_t lane_of(std::int64_t unit) {
        const std::int64_t half = block / 2, within = unit % units;
        return within / half * block + within % half + (unit < units ? 0 : half);
    }

    // Into every second vector.
    static void load_real(const T* const* lines, std::int64_t length, V* data) {
        std::int64_t k = 0;
        for (; k + W <= length; k += W) {
            V rows[W];
            for (int i = 0; i < W; ++i) rows[i] = RealLines::load(lines[i] + k);
            RealLines::template transpose<1>(rows);
            for (int i = 0; i < W; ++i) data[2 * (k + i)] = rows[i];
        }
        for (; k < length; ++k) {
            for (int i = 0; i < W; ++i) data[2 * k][i] = lines[i][k];
        }
    }

    static void store_real(const V* data, std::int64_t length, T* const* lines, T scale) {
        std::int64_t k = 0;
        for (; k + W <= length; k += W) {
            V rows[W];
            for (int i = 0; i < W; ++i) rows[i] = data[2 * (k + i)] * scale;
            RealLines::template transpose<1>(rows);
            for (int i = 0; i < W; ++i) {
                if (lines[i]) RealLines::store(lines[i] + k, rows[i]);
            }
        }
        for (; k < length; ++k) {
            for (int i = 0; i < W; ++i) {
                if (lines[i]) lines[i][k] = data[2 * k][i] * scale;
            }
        }
    }

    // --- one line ----------------------------------------------------------------------------------

    static void forward_even(const FftJob<T>& job, const T* x, T* y) {
        const std::int64_t half = job.length / 2;
        T* const work = job.work + rounded(job.length);
        T* const z = job.work;
        RealLines::line(job.line, x, z, false, job.scale, work);
        y[0] = z[0] + z[1];
        y[1] = y[2 * half + 1] = T(0);
        y[2 * half] = z[0] - z[1];
        for (std::int64_t k = 1; 2 * k <= half; ++k) {
            const T *a = z + 2 * k, *b = z + 2 * (half - k), *turn = job.turns + 2 * k;
            const T even_re = T(0.5) * (a[0] + b[0]), even_im = T(0.5) * (a[1] - b[1]);
            const T odd_re = T(0.5) * (a[1] + b[1]), odd_im = T(0.5) * (b[0] - a[0]);
            const T re = odd_re * turn[0] - odd_im * turn[1];
            const T im = odd_re * turn[1] + odd_im * turn[0];
            y[2 * k] = even_re + re;
            y[2 * k + 1] = even_im + im;
            y[2 * (half - k)] = even_re - re;
            y[2 * (half - k) + 1] = im - even_im;
        }
    }

    static void backward_even(const FftJob<T>& job, const T* x, T* y) {
        const std::int64_t half = job.length / 2;
        T* const work = job.work + rounded(job.length);
        T* const z = job.work;
        z[0] = x[0] + x[2 * half];
        z[1] = x[0] - x[2 * half];
        for (std::int64_t k = 1; 2 * k <= half; ++k) {
            const T *a = x + 2 * k, *b = x + 2 * (half - k), *turn = job.turns + 2 * k;
            const T even_re = a[0] + b[0], even_im = a[1] - b[1];
            const T odd_re = a[0] - b[0], odd_im = a[1] + b[1];
            const T re = odd_re * turn[0] + odd_im * turn[1];
            const T im = odd_im * turn[0] - odd_re * turn[1];
            z[2 * k] = even_re - im;
            z[2 * k + 1] = even_im + re;
            z[2 * (half - k)] = even_re + im;
            z[2 * (half - k) + 1] = re - even_im;
        }
        RealLines::line(job.line, z, y, true, job.scale, work);
    }

    static void forward_odd(const FftJob<T>& job, const T* x, T* y) {
        T* const z = job.work;
        for (std::int64_t k = 0; k < job.length; ++k) {
            z[2 * k] = x[k];
            z[2 * k + 1] = T(0);
        }
        RealLines::line(job.line, z, z, false, job.scale, job.work + rounded(2 * job.length));
        for (std::int64_t k = 0; k < 2 * (job.length / 2 + 1); ++k) y[k] = z[k];
    }

    static void backward_odd(const FftJob<T>& job, const T* x, T* y) {
        T* const z = job.work;
        z[0] = x[0];
        z[1] = T(0);
        for (std::int64_t k = 1; k <= job.length / 2; ++k) {
            z[2 * k] = z[2 * (job.length - k)] = x[2 * k];
            z[2 * k + 1] = x[2 * k + 1];
            z[2 * (job.length - k) + 1] = -x[2 * k + 1];
        }
        RealLines::line(job.line, z, z, true, job.scale, job.work + rounded(2 * job.length));
        for (std::int64_t k = 0; k < job.length; ++k) y[k] = z[2 * k];
    }

    static constexpr std::int64_t rounded(std::int64_t count) { return (count + 15) / 16 * 16; }
};

template <typename T, int W>
void complex_lines(const FftJob<T>& job) {
    using L = Lines<T, W>;
    using V = typename L::V;
    const std::int64_t length = job.length, inner = job.inner;
    auto* data = reinterpret_cast<V*>(job.work);
    for (std::int64_t at = job.first; at < job.last;) {
        const std::int64_t outside = at / inner, inside = at % inner;
        const std::int64_t begin = 2 * (outside * length * inner + inside);
        std::int64_t count = job.last - at < W ? job.last - at : W;
        if (!job.side_by_side) {
            count = 1;
            T* const line = job.work;
            T* const work = job.work + (2 * length + 15) / 16 * 16;
            if (inner == 1) {
                L::line(job.line, job.x + begin, job.y + begin, job.inverse, job.scale, work);
            } else {
                for (std::int64_t k = 0; k < length; ++k) {
                    line[2 * k] = job.x[begin + 2 * k * inner];
                    line[2 * k + 1] = job.x[begin + 2 * k * inner + 1];
                }
                L::line(job.line, line, line, job.inverse, job.scale, work);
                for (std::int64_t k = 0; k < length; ++k) {
                    job.y[begin + 2 * k * inner] = line[2 * k];
                    job.y[begin + 2 * k * inner + 1] = line[2 * k + 1];
                }
            }
        } else if (inner == 1) {
            const T* from[W];
            T* to[W];
            for (int i = 0; i < W; ++i) {
                from[i] = job.x + begin + (i < count ? 2 * length * i : 0);
                to[i] = i < count ? job.y + begin + 2 * length * i : nullptr;
            }
            L::load_rows(from, length, data, job.inverse);
            const V* done = L::run(job.lanes, data, data + 2 * length);
            L::store_rows(done, length, to, job.inverse, job.scale);
        } else {
            count = inner - inside < count ? inner - inside : count;
            L::load_columns(job.x + begin, 2 * inner, length, count, data, job.inverse);
            const V* done = L::run(job.lanes, data, data + 2 * length);
            L::store_columns(done, length, job.y + begin, 2 * inner, count, job.inverse, job.scale);
        }
        at += count;
    }
}

template <typename T, int W>
constexpr FftFunctions<T> functions{W, complex_lines<T, W>, RealLines<T, W>::forward,
                                    RealLines<T, W>::backward};

}  // namespace anyshape::ANYSHAPE_FFT_ISA
