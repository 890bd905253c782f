// Memory for what leaves a run: outputs, and contiguous copies of inputs that are not.
//
// Blocks are powers of two from 64 bytes up, aligned to 64. A block that comes back is kept for the
// next one who needs that size; what is kept is bounded, the rest goes back to the C library.
//
// Ownership: the pool is the process's and is never destroyed, because arrays outlive everything
// else. A PoolBlock owns its memory until it is released to a foreign owner, who gives it back.
// Thread-safety: the Pool may be used from any thread; a PoolBlock from one at a time.
// Failure: take() throws std::bad_alloc; giving back never fails.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace anyshape {

class Pool;

class PoolBlock {
   public:
    PoolBlock() = default;
    PoolBlock(PoolBlock&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bucket_(other.bucket_) {}
    PoolBlock& operator=(PoolBlock&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bucket_, other.bucket_);
        return *this;
    }
    ~PoolBlock();

    std::byte* data() const noexcept { return data_; }
    int bucket() const noexcept { return bucket_; }

    // The caller calls Pool::give_back(data, bucket) some day.
    std::byte* release() noexcept { return std::exchange(data_, nullptr); }

   private:
    friend class Pool;
    PoolBlock(std::byte* data, int bucket) : data_(data), bucket_(bucket) {}

    std::byte* data_ = nullptr;
    int bucket_ = 0;
};

struct PoolMetrics {
    std::size_t idle_bytes = 0;
    std::size_t used_bytes = 0;  // handed out
    std::size_t limit_bytes = 0;
};

class Pool {
   public:
    static Pool& process();

    PoolBlock take(std::size_t bytes);
    void give_back(std::byte* data, int bucket) noexcept;

    // What may be kept idle. A lower limit takes effect at once; 0 keeps nothing.
    void set_limit(std::size_t bytes) noexcept;
    PoolMetrics metrics() const noexcept;

   private:
    struct Idle {  // lies in the idle block itself
        Idle* next;
    };
    static constexpr int buckets = 48;  // bucket k holds blocks of 64 << k bytes

    mutable std::mutex mutex_;
    std::array<Idle*, buckets> idle_{};
    PoolMetrics metrics_{.limit_bytes = std::size_t{256} << 20};
};

}  // namespace anyshape
