// The memory of one run at a time: grows to what is asked for, keeps nothing between runs.
//
// One private mapping. Pages take memory only once touched; growing keeps those that are, so a
// stream of slowly growing shapes does not fault them in again and again.
//
// Ownership: an Arena owns its mapping; addresses are valid until the next ensure() or trim().
// Thread-safety: none; each run has an Arena of its own.
// Failure: ensure() throws std::bad_alloc and leaves the Arena as it was.
#pragma once

#include <cstddef>
#include <utility>

namespace anyshape {

class Arena {
   public:
    Arena() = default;
    Arena(Arena&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Arena& operator=(Arena&& other) noexcept;
    ~Arena();

    // At least `bytes`, on a page boundary. The content is undefined.
    std::byte* ensure(std::size_t bytes);

    // Gives back what is beyond `bytes`.
    void trim(std::size_t bytes) noexcept;

    std::byte* data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }

   private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace anyshape
