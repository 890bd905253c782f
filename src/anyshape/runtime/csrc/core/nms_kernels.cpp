#include "core/nms_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace anyshape {
namespace {

template <typename T>
struct Box {
    T x1, y1, x2, y2, area;
};

template <typename T>
Box<T> box_at(const T* boxes, std::int64_t index) {
    const T* at = boxes + index * 4;
    return {at[0], at[1], at[2], at[3], (at[2] - at[0]) * (at[3] - at[1])};
}

// Boxes that are kept, a row for each number of a box: loops over boxes are made of vectors.
template <typename T>
class Kept {
   public:
    Kept(T* workspace, std::int64_t most) : rows_(workspace), most_(most) {}

    std::int64_t count() const { return count_; }

    void add(const Box<T>& box) {
        const T numbers[] = {box.x1, box.y1, box.x2, box.y2, box.area};
        for (std::int64_t row = 0; row < nms_workspace_numbers; ++row) {
            rows_[row * most_ + count_] = numbers[row];
        }
        ++count_;
    }

    // Whether the overlap with one of them exceeds a limit.
    bool covers(const Box<T>& box, T limit) const {
        for (std::int64_t from = 0; from < count_; from += group) {
            const std::int64_t until = std::min(count_, from + group);
            if (covers(box, limit, from, until)) return true;
        }
        return false;
    }

   private:
    static constexpr std::int64_t group = 64;  // boxes between looks at what was found

    bool covers(const Box<T>& box, T limit, std::int64_t from, std::int64_t until) const {
        const T *x1 = rows_, *y1 = x1 + most_, *x2 = y1 + most_, *y2 = x2 + most_;
        const T* areas = y2 + most_;
        int found = 0;
        for (std::int64_t i = from; i < until; ++i) {
            const T width = std::min(x2[i], box.x2) - std::max(x1[i], box.x1);
            const T height = std::min(y2[i], box.y2) - std::max(y1[i], box.y1);
            const T shared = std::max(width, T{0}) * std::max(height, T{0});
            found |= shared / (areas[i] + box.area - shared) > limit;
        }
        return found != 0;
    }

    T* rows_;
    std::int64_t most_;
    std::int64_t count_ = 0;
};

// The greatest number of T that is no greater: what exceeds one exceeds the other.
template <typename T>
T limit_of(double threshold) {
    const auto nearest = static_cast<T>(threshold);
    const bool above = static_cast<double>(nearest) > threshold;
    return above ? std::nextafter(nearest, -std::numeric_limits<T>::infinity()) : nearest;
}

template <typename T>
T* workspace_of(std::int64_t address, std::int64_t worker, std::int64_t count) {
    constexpr std::int64_t line = 64;
    const auto bytes = count * nms_workspace_numbers * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t part = (bytes + line - 1) / line * line;
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(address) + worker * part);
}

template <typename T>
void nms_kernel(const std::int64_t* block, std::int64_t first, std::int64_t last,
                std::int64_t worker) {
    const auto* boxes = reinterpret_cast<const T*>(block[0]);
    const auto* order = reinterpret_cast<const std::int64_t*>(block[1]);
    const auto* candidates = reinterpret_cast<const std::int64_t*>(block[2]);
    const T limit = limit_of<T>(*reinterpret_cast<const double*>(block[3]));
    auto* kept = reinterpret_cast<std::int64_t*>(block[4]);
    auto* counts = reinterpret_cast<std::int64_t*>(block[5]);
    const std::int64_t classes = block[8], count = block[9], most = block[10];
    for (std::int64_t task = first; task < last; ++task) {
        const T* own = boxes + task / classes * count * 4;
        Kept<T> found(workspace_of<T>(block[6], worker, count), count);
        const std::int64_t until = std::min(count, candidates[task]);
        for (std::int64_t i = 0; i < until && found.count() < most; ++i) {
            const std::int64_t given = order[task * count + i];
            const std::int64_t index = std::clamp<std::int64_t>(given, 0, count - 1);
            const Box<T> box = box_at(own, index);
            if (found.covers(box, limit)) continue;
            kept[task * count + found.count()] = index;
            found.add(box);
        }
        counts[task] = found.count();
    }
}

constexpr NamedKernel kernels[] = {
    {"nms_f32", nms_kernel<float>},
    {"nms_f64", nms_kernel<double>},
};

}  // namespace

std::span<const NamedKernel> nms_kernels() noexcept { return kernels; }

}  // namespace anyshape
