#include "core/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <new>

namespace anyshape {
namespace {

std::size_t page_bytes() noexcept {
    static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return page;
}

}  // namespace

std::size_t whole_pages(std::size_t bytes) noexcept {
    return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

std::byte* reserve_pages(std::size_t bytes) {
    void* mapped = mmap(nullptr, bytes + huge_page, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    auto* begin = static_cast<std::byte*>(mapped);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % huge_page;
    release_pages(begin, before);
    release_pages(begin + before + bytes, huge_page - before);
    return begin + before;
}

void release_pages(std::byte* data, std::size_t bytes) noexcept {
    if (bytes > 0) munmap(data, bytes);
}

void commit_pages(std::byte* data, std::size_t already, std::size_t bytes) {
    if (mprotect(data + already, bytes - already, PROT_READ | PROT_WRITE) != 0) {
        throw std::bad_alloc();
    }
    // Only advice: fewer page faults and fewer misses of the address cache where the system agrees.
    if (bytes >= huge_page) madvise(data, bytes, MADV_HUGEPAGE);
}

// A new mapping in place of the old one also gives back what the system had promised to provide.
bool decommit_pages(std::byte* data, std::size_t bytes) noexcept {
    return mmap(data, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                0) != MAP_FAILED;
}

void touch_pages(std::byte* data, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    if (madvise(data, bytes, MADV_POPULATE_WRITE) == 0) return;
    if (errno == ENOMEM) throw std::bad_alloc();
#endif
    volatile std::byte* page = data;
    for (std::size_t i = 0; i < bytes; i += page_bytes()) page[i] = std::byte{0};
}

void read_pages(const std::byte* data, std::size_t bytes) noexcept {
    const volatile std::byte* page = data;
    for (std::size_t i = 0; i < bytes; i += page_bytes()) static_cast<void>(page[i]);
    if (bytes > 0) static_cast<void>(page[bytes - 1]);
}

}  // namespace anyshape
