// Memory for what leaves a run: outputs, and contiguous copies of inputs that are not.
//
// Blocks are powers of two from 64 bytes up, aligned to 64; large ones are mappings of their own,
// so that giving them back shrinks the process. A block that comes back is kept for the next one
// who needs that size. What is kept is bounded, and blocks that nobody needed while a window of
// others was taken go back to the system.
//
// Ownership: the pool is the process's and is never destroyed, because arrays outlive everything
// else. A PoolBlock owns its memory until it is released to a foreign owner, who gives it back.
// Thread-safety: the Pool may be used from any thread; a PoolBlock from one at a time.
// Failure: take() and reserve() throw std::bad_alloc (NotAvailable); giving back never fails.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "core/fork_safe.h"

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
    std::size_t bytes() const noexcept;  // at least as many as were asked for

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
    static constexpr std::uint32_t window = 1024;  // blocks taken

    static Pool& process();

    PoolBlock take(std::size_t bytes);
    void give_back(std::byte* data, int bucket) noexcept;

    // Blocks of these sizes, all at once, with memory behind them; that many are kept from now on,
    // whatever the limit and however long nobody needs them.
    void reserve(std::span<const std::int64_t> sizes);

    // Blocks that are kept in addition to all others, whatever trim() says, until the Hold is gone.
    class Hold;

    // Gives back all that is idle, what was reserved too.
    void trim() noexcept;

    // What may be kept idle. A lower limit takes effect at once; 0 keeps nothing but reserves.
    void set_limit(std::size_t bytes) noexcept;
    PoolMetrics metrics() const noexcept;

   private:
    struct Idle {  // lies in the idle block itself
        Idle* next;
    };
    struct Bucket {
        Idle* first = nullptr;
        std::uint32_t idle = 0;        // blocks
        std::uint32_t least_idle = 0;  // of this window: so many were never needed
        std::uint32_t floor = 0;       // reserved
        std::uint32_t held = 0;        // by Holds, in addition

        std::uint32_t least() const noexcept { return floor + held; }
    };
    static constexpr int buckets = 48;  // bucket k holds blocks of 64 << k bytes
    using Freed = std::array<Idle*, buckets>;
    using Counts = std::array<std::uint32_t, buckets>;

    PoolBlock make(std::size_t bytes);

    std::byte* take_idle(int bucket) noexcept;
    void end_window() noexcept;
    void drop_one(int bucket, Freed& freed) noexcept;
    static void free_all(const Freed& freed) noexcept;

    mutable ForkSafeMutex mutex_;
    std::array<Bucket, buckets> buckets_{};
    std::uint32_t taken_ = 0;  // in this window
    PoolMetrics metrics_{.limit_bytes = std::size_t{256} << 20};
};

class Pool::Hold {
   public:
    // New blocks of these sizes, with memory behind them.
    explicit Hold(std::span<const std::int64_t> sizes);
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();

    // Sizes of blocks so that any result of `least` to `most` bytes finds one.
    static void append_sizes(std::int64_t least, std::int64_t most,
                             std::vector<std::int64_t>& sizes);

   private:
    Counts counts_{};
};

}  // namespace anyshape
