// Transforms of lines: several at once, a lane each, or one as a matrix whose columns and rows are
// lines. Included once for each instruction set: see fft_vectors.h.
#pragma once

#include "core/fft_kernels.h"
#include "core/fft_passes.h"

namespace anyshape::ANYSHAPE_FFT_ISA {

// Complex lines between memory and vectors. `swap` exchanges real and imaginary parts on the way,
// before and after a transform, which makes it the inverse one.
template <typename T, int W>
struct Lines : Passes<T, W> {
    using typename Vectors<T, W>::V;
    using typename Vectors<T, W>::C;
    static constexpr int units = Vectors<T, W>::units, block = Vectors<T, W>::block;

    // Lines that lie one behind the other. There are W addresses, which may be the same.
    static void load_rows(const T* const* lines, std::int64_t length, V* data, bool swap) {
        std::int64_t k = 0;
        for (; k + units <= length; k += units) {
            V first[units], second[units];
            for (int i = 0; i < units; ++i) {
                first[i] = Lines::load(lines[i] + 2 * k);
                second[i] = Lines::load(lines[units + i] + 2 * k);
            }
            Lines::template transpose<2>(first);
            Lines::template transpose<2>(second);
            for (int i = 0; i < units; ++i) put(data, k + i, Lines::split(first[i], second[i]), swap);
        }
        for (; k < length; ++k) {
            T re[W], im[W];
            for (int lane = 0; lane < W; ++lane) {
                const T* at = lines[fft_column_of_lane(lane, W, block)] + 2 * k;
                re[lane] = at[0];
                im[lane] = at[1];
            }
            put(data, k, {Lines::load(re), Lines::load(im)}, swap);
        }
    }

    // A null address is a line that is not stored.
    static void store_rows(const V* data, std::int64_t length, T* const* lines, bool swap, T scale) {
        std::int64_t k = 0;
        for (; k + units <= length; k += units) {
            V first[units], second[units];
            for (int i = 0; i < units; ++i) {
                const C value = get(data, k + i, swap, scale);
                first[i] = Lines::first_half(value);
                second[i] = Lines::second_half(value);
            }
            Lines::template transpose<2>(first);
            Lines::template transpose<2>(second);
            for (int i = 0; i < units; ++i) {
                if (lines[i]) Lines::store(lines[i] + 2 * k, first[i]);
                if (lines[units + i]) Lines::store(lines[units + i] + 2 * k, second[i]);
            }
        }
        for (; k < length; ++k) {
            const C value = get(data, k, swap, scale);
            for (int lane = 0; lane < W; ++lane) {
                T* const line = lines[fft_column_of_lane(lane, W, block)];
                if (!line) continue;
                line[2 * k] = value.re[lane];
                line[2 * k + 1] = value.im[lane];
            }
        }
    }

    // Lines side by side: element k of the first is at `from + k * step`. At most W.
    static void load_columns(const T* from, std::int64_t step, std::int64_t length,
                             std::int64_t count, V* data, bool swap) {
        for (std::int64_t k = 0; k < length; ++k, from += step) {
            if (count == W) {
                put(data, k, Lines::split(Lines::load(from), Lines::load(from + W)), swap);
                continue;
            }
            T re[W], im[W];
            for (int lane = 0; lane < W; ++lane) {
                const std::int64_t column = fft_column_of_lane(lane, W, block);
                re[lane] = column < count ? from[2 * column] : T(0);
                im[lane] = column < count ? from[2 * column + 1] : T(0);
            }
            put(data, k, {Lines::load(re), Lines::load(im)}, swap);
        }
    }

    static void store_columns(const V* data, std::int64_t length, T* to, std::int64_t step,
                              std::int64_t count, bool swap, T scale) {
        for (std::int64_t k = 0; k < length; ++k, to += step) {
            const C value = get(data, k, swap, scale);
            if (count == W) {
                Lines::store(to, Lines::first_half(value));
                Lines::store(to + W, Lines::second_half(value));
                continue;
            }
            for (int lane = 0; lane < W; ++lane) {
                const std::int64_t column = fft_column_of_lane(lane, W, block);
                if (column >= count) continue;
                to[2 * column] = value.re[lane];
                to[2 * column + 1] = value.im[lane];
            }
        }
    }

    // --- one line: x and y are [length] complex numbers, which may be the same --------------------

    static void line(const FftLineSteps<T>& steps, const T* x, T* y, bool swap, T scale, T* work) {
        if (steps.convolution) return convolved(steps, x, y, swap, scale, work);
        if (steps.rows) return as_matrix(steps, x, y, swap, scale, work);
        auto* data = reinterpret_cast<V*>(work);
        load_columns(x, 2, steps.length, 1, data, swap);
        const V* done = Lines::run(steps.passes, data, data + 2 * steps.length);
        store_columns(done, steps.length, y, 2, 1, swap, scale);
    }

   private:
    ANYSHAPE_FFT_INLINE static void put(V* data, std::int64_t k, C value, bool swap) {
        data[2 * k + swap] = value.re;
        data[2 * k + 1 - swap] = value.im;
    }
    ANYSHAPE_FFT_INLINE static C get(const V* data, std::int64_t k, bool swap, T scale) {
        return {data[2 * k + swap] * scale, data[2 * k + 1 - swap] * scale};
    }

    // Of x[rows, columns]. Tiles of columns leave [columns, rows] behind, of which tiles of rows are
    // columns again. The last tile begins early rather than end late.
    static void as_matrix(const FftLineSteps<T>& steps, const T* x, T* y, bool swap, T scale,
                          T* work) {
        const std::int64_t rows = steps.rows, columns = steps.columns;
        auto* data = reinterpret_cast<V*>(work);
        V* const other = data + 2 * (rows > columns ? rows : columns);
        T* const between = reinterpret_cast<T*>(other + 2 * (rows > columns ? rows : columns));
        const T* turns = steps.turns;
        for (std::int64_t tile = 0; tile < columns; tile += W, turns += 2 * rows * W) {
            const std::int64_t first = tile + W <= columns ? tile : columns - W;
            load_columns(x + 2 * first, 2 * columns, rows, W, data, swap);
            V* const done = Lines::run(steps.passes, data, other);
            T* lines[W];
            for (int i = 0; i < W; ++i) lines[i] = between + 2 * rows * (first + i);
            turn(done, turns, rows);
            store_rows(done, rows, lines, false, T(1));
        }
        for (std::int64_t tile = 0; tile < rows; tile += W) {
            const std::int64_t first = tile + W <= rows ? tile : rows - W;
            load_columns(between + 2 * first, 2 * rows, columns, W, data, false);
            const V* done = Lines::run(steps.row_passes, data, other);
            store_columns(done, columns, y + 2 * first, 2 * rows, W, swap, scale);
        }
    }

    static void turn(V* data, const T* turns, std::int64_t rows) {
        for (std::int64_t k = 0; k < rows; ++k, turns += 2 * W) {
            const C value = {data[2 * k], data[2 * k + 1]};
            put(data, k, Lines::times(value, Lines::load(turns), Lines::load(turns + W)), false);
        }
    }

    static void convolved(const FftLineSteps<T>& steps, const T* x, T* y, bool swap, T scale,
                          T* work) {
        const FftLineSteps<T>& round = *steps.convolution;
        T* const line_work = work + (2 * round.length + 15) / 16 * 16;
        for (std::int64_t k = 0; k < steps.length; ++k) {
            product(x[2 * k + swap], x[2 * k + 1 - swap], steps.chirp + 2 * k, work + 2 * k);
        }
        for (std::int64_t k = 2 * steps.length; k < 2 * round.length; ++k) work[k] = T(0);
        line(round, work, work, false, T(1), line_work);
        for (std::int64_t k = 0; k < round.length; ++k) {
            product(work[2 * k], work[2 * k + 1], steps.spectrum + 2 * k, work + 2 * k);
        }
        line(round, work, work, true, T(1), line_work);
        for (std::int64_t k = 0; k < steps.length; ++k) {
            T value[2];
            product(work[2 * k], work[2 * k + 1], steps.chirp + 2 * k, value);
            y[2 * k + swap] = value[0] * scale;
            y[2 * k + 1 - swap] = value[1] * scale;
        }
    }

    ANYSHAPE_FFT_INLINE static void product(T re, T im, const T* by, T* to) {
        to[0] = re * by[0] - im * by[1];
        to[1] = re * by[1] + im * by[0];
    }
};

}  // namespace anyshape::ANYSHAPE_FFT_ISA
