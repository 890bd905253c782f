#include "pool.h"

#include <sys/mman.h>

#include <bit>
#include <cstdlib>
#include <memory>
#include <new>

namespace anyshape {
namespace {

constexpr std::size_t smallest = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t bytes_in(int bucket) { return smallest << bucket; }

int bucket_for(std::size_t bytes) {
    return bytes <= smallest ? 0 : static_cast<int>(std::bit_width((bytes - 1) / smallest));
}

// Large blocks are made of huge pages where the system agrees: far fewer faults on first use.
std::byte* allocate(std::size_t bytes) {
    const bool large = bytes >= huge_page;
    void* data = std::aligned_alloc(large ? huge_page : smallest, bytes);
    if (data == nullptr) throw std::bad_alloc();
    if (large) madvise(data, bytes, MADV_HUGEPAGE);
    return static_cast<std::byte*>(data);
}

}  // namespace

PoolBlock::~PoolBlock() {
    if (data_ != nullptr) Pool::process().give_back(data_, bucket_);
}

Pool& Pool::process() {
    static Pool& pool = *std::make_unique<Pool>().release();
    return pool;
}

PoolBlock Pool::take(std::size_t bytes) {
    const int bucket = bucket_for(bytes);
    if (bucket >= buckets) throw std::bad_alloc();
    {
        const std::lock_guard lock(mutex_);
        if (Idle*& first = idle_[static_cast<std::size_t>(bucket)]) {
            metrics_.idle_bytes -= bytes_in(bucket);
            metrics_.used_bytes += bytes_in(bucket);
            return {reinterpret_cast<std::byte*>(std::exchange(first, first->next)), bucket};
        }
    }
    PoolBlock block(allocate(bytes_in(bucket)), bucket);
    const std::lock_guard lock(mutex_);
    metrics_.used_bytes += bytes_in(bucket);
    return block;
}

void Pool::give_back(std::byte* data, int bucket) noexcept {
    {
        const std::lock_guard lock(mutex_);
        metrics_.used_bytes -= bytes_in(bucket);
        if (metrics_.idle_bytes + bytes_in(bucket) <= metrics_.limit_bytes) {
            Idle*& first = idle_[static_cast<std::size_t>(bucket)];
            first = new (data) Idle{first};
            metrics_.idle_bytes += bytes_in(bucket);
            return;
        }
    }
    std::free(data);
}

void Pool::set_limit(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    metrics_.limit_bytes = bytes;
    for (std::size_t bucket = buckets; bucket-- > 0;) {
        while (metrics_.idle_bytes > bytes && idle_[bucket] != nullptr) {
            std::free(std::exchange(idle_[bucket], idle_[bucket]->next));
            metrics_.idle_bytes -= bytes_in(static_cast<int>(bucket));
        }
    }
}

PoolMetrics Pool::metrics() const noexcept {
    const std::lock_guard lock(mutex_);
    return metrics_;
}

}  // namespace anyshape
