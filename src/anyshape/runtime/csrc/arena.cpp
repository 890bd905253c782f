#include "arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace anyshape {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t whole_pages(std::size_t bytes) {
    static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

void* map(void* old, std::size_t old_bytes, std::size_t bytes) {
    if (old != nullptr) return mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
}

}  // namespace

Arena& Arena::operator=(Arena&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Arena::~Arena() { trim(0); }

std::byte* Arena::ensure(std::size_t bytes) {
    if (bytes <= bytes_) return data_;
    const std::size_t wanted = whole_pages(bytes);
    void* mapped = map(data_, bytes_, wanted);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(mapped);
    bytes_ = wanted;
    // Only advice: fewer page faults and fewer misses of the address cache where the system agrees.
    if (bytes_ >= huge_page) madvise(data_, bytes_, MADV_HUGEPAGE);
    return data_;
}

void Arena::trim(std::size_t bytes) noexcept {
    const std::size_t kept = whole_pages(bytes);
    if (kept >= bytes_) return;
    munmap(data_ + kept, bytes_ - kept);
    bytes_ = kept;
    if (kept == 0) data_ = nullptr;
}

}  // namespace anyshape
