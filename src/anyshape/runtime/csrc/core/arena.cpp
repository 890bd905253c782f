#include "core/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "core/available_memory.h"
#include "core/pages.h"

namespace anyshape {
namespace {

// How far an arena can grow without moving. Address space is plentiful but not endless: this much
// more of it than of memory can always be had.
constexpr std::size_t room_to_grow = 16;
constexpr std::size_t least_reservation = std::size_t{16} << 20;
constexpr std::size_t most_bytes = std::size_t{1} << 47;  // of address space that a process has

// Less than this is not worth a call into the system, and page faults if it is needed again.
constexpr std::size_t least_surplus = std::size_t{1} << 20;

}  // namespace

std::byte* Arena::ensure(std::size_t bytes) {
    if (bytes > bytes_) grow(bytes);
    peak_ = std::max(peak_, bytes);
    if (++runs_ == window) end_window();
    return data_;
}

void Arena::reserve(std::size_t bytes) {
    if (bytes > bytes_) grow(bytes);
    if (bytes > 0) touch_pages(data_, whole_pages(bytes));
    floor_ = std::max(floor_, bytes);
}

void Arena::grow(std::size_t bytes) {
    if (bytes > most_bytes) {
        CallMemory::require(bytes - bytes_);
        throw std::bad_alloc();
    }
    const std::size_t wanted = whole_pages(bytes);
    CallMemory::require(wanted - bytes_);
    if (wanted > reserved_bytes_) {
        try {
            move_to(std::max(wanted * room_to_grow, least_reservation));
        } catch (const std::bad_alloc&) {
            move_to(wanted);  // where address space is limited
        }
    }
    commit_pages(data_, bytes_, wanted);
    bytes_ = wanted;
}

void Arena::move_to(std::size_t reserved) {
    std::byte* data = reserve_pages(reserved);
    const bool moved = bytes_ > 0 && mremap(data_, bytes_, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED,
                                            data) != MAP_FAILED;
    const std::size_t kept = moved ? bytes_ : 0;  // pages that would not move are made anew
    release_pages(data_ + kept, reserved_bytes_ - kept);
    data_ = data;
    bytes_ = kept;
    reserved_bytes_ = reserved;
}

void Arena::end_window() noexcept {
    const std::size_t kept = whole_pages(std::max({peak_, last_peak_, floor_}));
    last_peak_ = std::exchange(peak_, 0);
    runs_ = 0;
    const std::size_t surplus = bytes_ - kept;
    if (surplus < std::max(least_surplus, bytes_ / 4)) return;
    if (decommit_pages(data_ + kept, surplus)) bytes_ = kept;
}

void Arena::release() noexcept {
    release_pages(data_, reserved_bytes_);
    data_ = nullptr;
    bytes_ = reserved_bytes_ = floor_ = peak_ = last_peak_ = 0;
    runs_ = 0;
}

}  // namespace anyshape
