#include "core/pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "core/available_memory.h"
#include "core/pages.h"

namespace anyshape {
namespace {

constexpr std::size_t smallest = 64;

std::size_t bytes_in(int bucket) { return smallest << bucket; }

int bucket_for(std::size_t bytes) {
    return bytes <= smallest ? 0 : static_cast<int>(std::bit_width((bytes - 1) / smallest));
}

bool is_mapping(int bucket) { return bytes_in(bucket) >= huge_page; }

// Of a block, only what is asked for will be touched.
std::byte* allocate(int bucket, std::size_t asked) {
    CallMemory::require(asked);
    const std::size_t bytes = bytes_in(bucket);
    if (!is_mapping(bucket)) {
        void* data = std::aligned_alloc(smallest, bytes);
        if (data == nullptr) throw std::bad_alloc();
        return static_cast<std::byte*>(data);
    }
    std::byte* data = reserve_pages(bytes);
    try {
        commit_pages(data, 0, bytes);
    } catch (...) {
        release_pages(data, bytes);
        throw;
    }
    return data;
}

void deallocate(void* data, int bucket) noexcept {
    if (is_mapping(bucket)) {
        release_pages(static_cast<std::byte*>(data), bytes_in(bucket));
    } else {
        std::free(data);
    }
}

// All pages of a mapping; of a block of the C library, those that lie in it as a whole or in part.
void touch(const PoolBlock& block, std::size_t bytes) {
    if (is_mapping(block.bucket())) {
        touch_pages(block.data(), whole_pages(bytes));
    } else {
        std::fill_n(block.data(), bytes, std::byte{0});
    }
}

}  // namespace

PoolBlock::~PoolBlock() {
    if (data_ != nullptr) Pool::process().give_back(data_, bucket_);
}

std::size_t PoolBlock::bytes() const noexcept { return bytes_in(bucket_); }

Pool& Pool::process() {
    static Pool& pool = *std::make_unique<Pool>().release();
    return pool;
}

PoolBlock Pool::take(std::size_t bytes) {
    const int bucket = bucket_for(bytes);
    if (bucket >= buckets) {
        CallMemory::require(bytes);
        throw std::bad_alloc();
    }
    std::byte* data = nullptr;
    bool window_over = false;
    {
        const std::lock_guard lock(mutex_);
        data = take_idle(bucket);
        window_over = ++taken_ >= window;
    }
    if (window_over) end_window();
    if (data != nullptr) return {data, bucket};
    return make(bytes);
}

PoolBlock Pool::make(std::size_t bytes) {
    const int bucket = bucket_for(bytes);
    std::byte* data = allocate(bucket, bytes);
    const std::lock_guard lock(mutex_);
    metrics_.used_bytes += bytes_in(bucket);
    return {data, bucket};
}

// Null if there is none.
std::byte* Pool::take_idle(int bucket) noexcept {
    Bucket& own = buckets_[static_cast<std::size_t>(bucket)];
    if (own.first == nullptr) return nullptr;
    own.least_idle = std::min(own.least_idle, --own.idle);
    metrics_.idle_bytes -= bytes_in(bucket);
    metrics_.used_bytes += bytes_in(bucket);
    return reinterpret_cast<std::byte*>(std::exchange(own.first, own.first->next));
}

// What lay idle all through the window goes.
void Pool::end_window() noexcept {
    Freed freed{};
    {
        const std::lock_guard lock(mutex_);
        if (taken_ < window) return;  // another thread was here first
        taken_ = 0;
        for (int bucket = 0; bucket < buckets; ++bucket) {
            Bucket& own = buckets_[static_cast<std::size_t>(bucket)];
            const std::uint32_t kept = std::max(own.idle - own.least_idle, own.least());
            while (own.idle > kept) drop_one(bucket, freed);
            own.least_idle = own.idle;
        }
    }
    free_all(freed);
}

void Pool::drop_one(int bucket, Freed& freed) noexcept {
    Bucket& own = buckets_[static_cast<std::size_t>(bucket)];
    Idle*& chain = freed[static_cast<std::size_t>(bucket)];
    Idle* block = std::exchange(own.first, own.first->next);
    block->next = std::exchange(chain, block);
    own.least_idle = std::min(own.least_idle, --own.idle);
    metrics_.idle_bytes -= bytes_in(bucket);
}

void Pool::free_all(const Freed& freed) noexcept {
    for (int bucket = 0; bucket < buckets; ++bucket) {
        for (Idle* block = freed[static_cast<std::size_t>(bucket)]; block != nullptr;) {
            Idle* next = block->next;
            deallocate(block, bucket);
            block = next;
        }
    }
}

void Pool::give_back(std::byte* data, int bucket) noexcept {
    {
        const std::lock_guard lock(mutex_);
        Bucket& own = buckets_[static_cast<std::size_t>(bucket)];
        metrics_.used_bytes -= bytes_in(bucket);
        const bool within_limit = metrics_.idle_bytes + bytes_in(bucket) <= metrics_.limit_bytes;
        if (within_limit || own.idle < own.least()) {
            own.first = new (data) Idle{own.first};
            ++own.idle;
            metrics_.idle_bytes += bytes_in(bucket);
            return;
        }
    }
    deallocate(data, bucket);
}

void Pool::reserve(std::span<const std::int64_t> sizes) {
    Counts wanted{};
    std::vector<PoolBlock> blocks;  // given back at the end
    blocks.reserve(sizes.size());
    for (const std::int64_t size : sizes) {
        const auto bytes = static_cast<std::size_t>(size);
        blocks.push_back(take(bytes));
        touch(blocks.back(), bytes);
        ++wanted[static_cast<std::size_t>(blocks.back().bucket())];
    }
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        buckets_[i].floor = std::max(buckets_[i].floor, wanted[i]);
    }
}

void Pool::trim() noexcept {
    Freed freed{};
    {
        const std::lock_guard lock(mutex_);
        for (int bucket = 0; bucket < buckets; ++bucket) {
            Bucket& own = buckets_[static_cast<std::size_t>(bucket)];
            own.floor = 0;
            while (own.idle > own.held) drop_one(bucket, freed);
        }
    }
    free_all(freed);
}

void Pool::set_limit(std::size_t bytes) noexcept {
    Freed freed{};
    {
        const std::lock_guard lock(mutex_);
        metrics_.limit_bytes = bytes;
        for (int bucket = buckets; bucket-- > 0;) {
            const Bucket& own = buckets_[static_cast<std::size_t>(bucket)];
            while (metrics_.idle_bytes > bytes && own.idle > own.least()) drop_one(bucket, freed);
        }
    }
    free_all(freed);
}

PoolMetrics Pool::metrics() const noexcept {
    const std::lock_guard lock(mutex_);
    return metrics_;
}

// ---- Hold --------------------------------------------------------------------------------------

Pool::Hold::Hold(std::span<const std::int64_t> sizes) {
    std::vector<PoolBlock> blocks;  // given back at the end, when they are held
    blocks.reserve(sizes.size());
    for (const std::int64_t size : sizes) {
        const auto bytes = static_cast<std::size_t>(size);
        if (bucket_for(bytes) >= buckets) throw std::bad_alloc();
        blocks.push_back(process().make(bytes));
        touch(blocks.back(), bytes);
    }
    const std::lock_guard lock(process().mutex_);
    for (const PoolBlock& block : blocks) {
        const auto bucket = static_cast<std::size_t>(block.bucket());
        ++counts_[bucket];
        ++process().buckets_[bucket].held;
    }
}

Pool::Hold::~Hold() {
    const std::lock_guard lock(process().mutex_);
    for (std::size_t i = 0; i < counts_.size(); ++i) process().buckets_[i].held -= counts_[i];
}

void Pool::Hold::append_sizes(std::int64_t least, std::int64_t most,
                              std::vector<std::int64_t>& sizes) {
    const int last = bucket_for(static_cast<std::size_t>(most));
    for (int bucket = bucket_for(static_cast<std::size_t>(least)); bucket < last; ++bucket) {
        sizes.push_back(static_cast<std::int64_t>(bytes_in(bucket)));
    }
    sizes.push_back(most);
}

}  // namespace anyshape
