#include "pool.h"

#include <bit>
#include <cstdlib>
#include <memory>
#include <new>

namespace anyshape {
namespace {

constexpr std::size_t smallest = 64;

std::size_t bytes_in(int bucket) { return smallest << bucket; }

int bucket_for(std::size_t bytes) {
    return bytes <= smallest ? 0 : static_cast<int>(std::bit_width((bytes - 1) / smallest));
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
        metrics_.used_bytes += bytes_in(bucket);
        if (Idle* block = idle_[static_cast<std::size_t>(bucket)]) {
            idle_[static_cast<std::size_t>(bucket)] = block->next;
            metrics_.idle_bytes -= bytes_in(bucket);
            return {reinterpret_cast<std::byte*>(block), bucket};
        }
    }
    void* fresh = std::aligned_alloc(smallest, bytes_in(bucket));
    if (fresh == nullptr) {
        const std::lock_guard lock(mutex_);
        metrics_.used_bytes -= bytes_in(bucket);
        throw std::bad_alloc();
    }
    return {static_cast<std::byte*>(fresh), bucket};
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
