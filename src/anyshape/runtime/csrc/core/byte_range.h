// The memory that an array lies in.
//
// Ownership and thread-safety: plain values and pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace anyshape {

// From the first byte to behind the last one. An empty array lies nowhere.
struct ByteRange {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;

    bool overlaps(const ByteRange& other) const noexcept {
        return begin != end && other.begin != other.end && begin < other.end && other.begin < end;
    }
};

// `strides` are in bytes, of any sign or zero.
inline ByteRange byte_range(const std::byte* data, std::span<const std::int64_t> sizes,
                            std::span<const std::int64_t> strides, std::int64_t item_bytes) {
    ByteRange range{data, data + item_bytes};
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
        if (sizes[axis] == 0) return {};
        const std::int64_t reach = (sizes[axis] - 1) * strides[axis];
        range.begin += std::min<std::int64_t>(reach, 0);
        range.end += std::max<std::int64_t>(reach, 0);
    }
    return range;
}

// Row-major without gaps. Strides of axes of size 1 or of empty arrays mean nothing.
inline bool is_dense(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
                     std::int64_t item_bytes) {
    if (std::ranges::find(sizes, 0) != sizes.end()) return true;
    std::int64_t expected = item_bytes;
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
        if (sizes[axis] != 1 && strides[axis] != expected) return false;
        expected *= sizes[axis];
    }
    return true;
}

// To an element; of those wider than a word, to their parts.
inline bool is_aligned(const void* data, std::int64_t item_bytes) {
    const auto needed = static_cast<std::uintptr_t>(std::min<std::int64_t>(item_bytes, 8));
    return reinterpret_cast<std::uintptr_t>(data) % needed == 0;
}

}  // namespace anyshape
