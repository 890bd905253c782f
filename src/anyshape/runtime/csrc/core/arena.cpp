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

// From so much on an arena is made of huge pages: one of them takes as long as 25 faults of small
// ones, which an arena that grows from shape to shape would have again and again.
constexpr std::size_t least_huge = huge_page / 8;

std::size_t committed_for(std::size_t bytes) {
    if (bytes < least_huge) return whole_pages(bytes);
    return (bytes + huge_page - 1) / huge_page * huge_page;
}

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
    const std::size_t wanted = committed_for(bytes), least = whole_pages(bytes);
    try {
        grow_to(wanted);
    } catch (const std::bad_alloc&) {
        if (wanted == least) throw;
        grow_to(least);  // where memory or address space is scarce
    }
    if (floor_ > 0) touch_pages(data_, whole_pages(floor_));
}

void Arena::grow_to(std::size_t wanted) {
    CallMemory::require(wanted - bytes_);
    if (wanted > reserved_bytes_) {
        try {
            move_to(std::max(wanted * room_to_grow, least_reservation));
        } catch (const std::bad_alloc&) {
            move_to(wanted);  // where address space is limited
        }
    }
    if (wanted >= huge_page) drop_small_pages();
    commit_pages(data_, bytes_, wanted);
    bytes_ = wanted;
}

// A huge page takes no place that a small one has.
void Arena::drop_small_pages() noexcept {
    if (bytes_ % huge_page != 0 && decommit_pages(data_, bytes_)) bytes_ = 0;
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
    const std::size_t kept = committed_for(std::max({peak_, last_peak_, floor_}));
    last_peak_ = std::exchange(peak_, 0);
    runs_ = 0;
    if (kept >= bytes_) return;
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
