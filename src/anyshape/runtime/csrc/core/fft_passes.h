// The passes of a transform, for as many lines at once as a vector has lanes. Included once for each
// instruction set: see fft_vectors.h.
//
// Data is [length] complex vectors: real parts, then imaginary ones. A pass reads
// x[radix, groups, stride] and writes y[groups, radix, stride]; after the last one the order is the
// natural one (Stockham).
#pragma once

#include "core/fft_tables.h"
#include "core/fft_vectors.h"

namespace anyshape::ANYSHAPE_FFT_ISA {

template <typename T, int W>
struct Passes : Vectors<T, W> {
    using typename Vectors<T, W>::V;
    using typename Vectors<T, W>::C;

    // Transforms `data`; the result is there or in `other`, whichever is returned.
    static V* run(const FftSteps<T>& steps, V* data, V* other) {
        for (std::int64_t i = 0; i < steps.count; ++i) {
            one(steps.passes[i], steps.roots, data, other);
            V* const done = other;
            other = data;
            data = done;
        }
        return data;
    }

   private:
    static void one(const FftPass& pass, const T* roots, const V* x, V* y) {
        const T* twiddles = roots + pass.twiddles;
        switch (pass.radix) {
            case 2: return fixed<2>(pass, twiddles, x, y);
            case 3: return fixed<3>(pass, twiddles, x, y);
            case 4: return fixed<4>(pass, twiddles, x, y);
            case 5: return fixed<5>(pass, twiddles, x, y);
            case 8: return fixed<8>(pass, twiddles, x, y);
            default: return prime(pass, twiddles, roots + pass.circle, x, y);
        }
    }

    template <int R>
    static void fixed(const FftPass& pass, const T* twiddles, const V* x, V* y) {
        const std::int64_t step = pass.groups * pass.stride;
        for (std::int64_t q = 0; q < pass.stride; ++q) {
            C a[R];
            for (int k = 0; k < R; ++k) a[k] = read(x, q + k * step);
            butterfly(a);
            for (int k = 0; k < R; ++k) write(y, q + k * pass.stride, a[k]);
        }
        for (std::int64_t group = 1; group < pass.groups; ++group) {
            const T* own = twiddles + group * 2 * (R - 1);
            const V* from = x + 2 * group * pass.stride;
            V* to = y + 2 * group * pass.stride * R;
            for (std::int64_t q = 0; q < pass.stride; ++q) {
                C a[R];
                for (int k = 0; k < R; ++k) a[k] = read(from, q + k * step);
                butterfly(a);
                write(to, q, a[0]);
                for (int k = 1; k < R; ++k) {
                    const V re = Passes::all(own[2 * k - 2]), im = Passes::all(own[2 * k - 1]);
                    write(to, q + k * pass.stride, Passes::times(a[k], re, im));
                }
            }
        }
    }

    // Sums of pairs that are each other's mirror images, and their differences.
    static void prime(const FftPass& pass, const T* twiddles, const T* circle, const V* x, V* y) {
        const std::int64_t radix = pass.radix, step = pass.groups * pass.stride;
        C sums[fft_greatest_prime / 2 + 1], differences[fft_greatest_prime / 2 + 1];
        for (std::int64_t group = 0; group < pass.groups; ++group) {
            const T* own = twiddles + group * 2 * (radix - 1);
            const V* from = x + 2 * group * pass.stride;
            V* to = y + 2 * group * pass.stride * radix;
            for (std::int64_t q = 0; q < pass.stride; ++q) {
                const C first = read(from, q);
                C total = first;
                for (std::int64_t j = 1; j <= radix / 2; ++j) {
                    const C a = read(from, q + j * step), b = read(from, q + (radix - j) * step);
                    sums[j] = add(a, b);
                    differences[j] = sub(a, b);
                    total = add(total, sums[j]);
                }
                write(to, q, total);
                for (std::int64_t k = 1; k <= radix / 2; ++k) {
                    C even = first, odd{};
                    for (std::int64_t j = 1; j <= radix / 2; ++j) {
                        const std::int64_t at = j * k % radix;
                        const V re = Passes::all(circle[2 * at]), im = Passes::all(circle[2 * at + 1]);
                        even = {even.re + sums[j].re * re, even.im + sums[j].im * re};
                        odd = {odd.re - differences[j].im * im, odd.im + differences[j].re * im};
                    }
                    turned(to, q + k * pass.stride, add(even, odd), own + 2 * k - 2);
                    turned(to, q + (radix - k) * pass.stride, sub(even, odd),
                           own + 2 * (radix - k) - 2);
                }
            }
        }
    }

    ANYSHAPE_FFT_INLINE static void turned(V* y, std::int64_t at, C value, const T* turn) {
        write(y, at, Passes::times(value, Passes::all(turn[0]), Passes::all(turn[1])));
    }

    ANYSHAPE_FFT_INLINE static C read(const V* x, std::int64_t at) {
        return {x[2 * at], x[2 * at + 1]};
    }
    ANYSHAPE_FFT_INLINE static void write(V* y, std::int64_t at, C value) {
        y[2 * at] = value.re;
        y[2 * at + 1] = value.im;
    }
    ANYSHAPE_FFT_INLINE static C add(C a, C b) { return {a.re + b.re, a.im + b.im}; }
    ANYSHAPE_FFT_INLINE static C sub(C a, C b) { return {a.re - b.re, a.im - b.im}; }
    ANYSHAPE_FFT_INLINE static C by_minus_i(C a) { return {a.im, -a.re}; }

    ANYSHAPE_FFT_INLINE static void butterfly(C (&a)[2]) {
        const C b = a[1];
        a[1] = sub(a[0], b);
        a[0] = add(a[0], b);
    }

    ANYSHAPE_FFT_INLINE static void butterfly(C (&a)[3]) {
        constexpr T half_root_3 = T(0.86602540378443864676);
        const C sum = add(a[1], a[2]), difference = by_minus_i(sub(a[1], a[2]));
        const C mid{a[0].re - T(0.5) * sum.re, a[0].im - T(0.5) * sum.im};
        const C side{half_root_3 * difference.re, half_root_3 * difference.im};
        a[0] = add(a[0], sum);
        a[1] = add(mid, side);
        a[2] = sub(mid, side);
    }

    ANYSHAPE_FFT_INLINE static void butterfly(C (&a)[4]) {
        const C s02 = add(a[0], a[2]), d02 = sub(a[0], a[2]);
        const C s13 = add(a[1], a[3]), d13 = by_minus_i(sub(a[1], a[3]));
        a[0] = add(s02, s13);
        a[1] = add(d02, d13);
        a[2] = sub(s02, s13);
        a[3] = sub(d02, d13);
    }

    ANYSHAPE_FFT_INLINE static void butterfly(C (&a)[5]) {
        constexpr T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410);
        constexpr T s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);
        const C s14 = add(a[1], a[4]), s23 = add(a[2], a[3]);
        const C d14 = by_minus_i(sub(a[1], a[4])), d23 = by_minus_i(sub(a[2], a[3]));
        const C e1{a[0].re + c1 * s14.re + c2 * s23.re, a[0].im + c1 * s14.im + c2 * s23.im};
        const C e2{a[0].re + c2 * s14.re + c1 * s23.re, a[0].im + c2 * s14.im + c1 * s23.im};
        const C o1{s1 * d14.re + s2 * d23.re, s1 * d14.im + s2 * d23.im};
        const C o2{s2 * d14.re - s1 * d23.re, s2 * d14.im - s1 * d23.im};
        a[0] = add(a[0], add(s14, s23));
        a[1] = add(e1, o1);
        a[2] = add(e2, o2);
        a[3] = sub(e2, o2);
        a[4] = sub(e1, o1);
    }

    ANYSHAPE_FFT_INLINE static void butterfly(C (&a)[8]) {
        constexpr T half_root_2 = T(0.70710678118654752440);
        C even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
        butterfly(even);
        butterfly(odd);
        const C o1{half_root_2 * (odd[1].re + odd[1].im), half_root_2 * (odd[1].im - odd[1].re)};
        const C o2 = by_minus_i(odd[2]);
        const C o3{half_root_2 * (odd[3].im - odd[3].re), -half_root_2 * (odd[3].re + odd[3].im)};
        const C turned_odd[4] = {odd[0], o1, o2, o3};
        for (int k = 0; k < 4; ++k) {
            a[k] = add(even[k], turned_odd[k]);
            a[k + 4] = sub(even[k], turned_odd[k]);
        }
    }
};

}  // namespace anyshape::ANYSHAPE_FFT_ISA
