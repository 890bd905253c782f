#include "core/strided_copy.h"

#include <cstring>

namespace anyshape {
namespace {

// A constant size makes each memcpy one move of that size.
template <std::size_t item_bytes>
void copy_items(std::byte* to, const std::byte* from, std::int64_t count, std::int64_t stride) {
    for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(to + i * static_cast<std::int64_t>(item_bytes), from + i * stride, item_bytes);
    }
}

void copy_row(std::byte* to, const std::byte* from, std::int64_t count, std::int64_t stride,
              std::size_t item_bytes) {
    if (stride == static_cast<std::int64_t>(item_bytes)) {
        std::memcpy(to, from, static_cast<std::size_t>(count) * item_bytes);
        return;
    }
    switch (item_bytes) {
        case 1: return copy_items<1>(to, from, count, stride);
        case 2: return copy_items<2>(to, from, count, stride);
        case 4: return copy_items<4>(to, from, count, stride);
        case 8: return copy_items<8>(to, from, count, stride);
        case 16: return copy_items<16>(to, from, count, stride);
        default: break;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(to + static_cast<std::size_t>(i) * item_bytes, from + i * stride, item_bytes);
    }
}

// Copies one axis after the other from the outside in; returns where the next element goes.
std::byte* copy_axes(std::byte* to, const std::byte* from, std::span<const std::int64_t> sizes,
                     std::span<const std::int64_t> strides, std::size_t item_bytes) {
    if (sizes.size() == 1) {
        copy_row(to, from, sizes[0], strides[0], item_bytes);
        return to + static_cast<std::size_t>(sizes[0]) * item_bytes;
    }
    for (std::int64_t i = 0; i < sizes[0]; ++i) {
        to = copy_axes(to, from + i * strides[0], sizes.subspan(1), strides.subspan(1), item_bytes);
    }
    return to;
}

}  // namespace

void copy_strided(std::byte* to, const std::byte* from, std::span<const std::int64_t> sizes,
                  std::span<const std::int64_t> strides, std::size_t item_bytes) noexcept {
    for (const std::int64_t size : sizes) {
        if (size == 0) return;
    }
    if (sizes.empty()) {
        std::memcpy(to, from, item_bytes);
    } else {
        copy_axes(to, from, sizes, strides, item_bytes);
    }
}

}  // namespace anyshape
