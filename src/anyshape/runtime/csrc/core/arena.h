// The memory of one run at a time: grows to what is asked for, shrinks when less is, keeps no
// content between runs.
//
// One reservation of address space, several times what was asked for first: memory is committed at
// its end as demand grows, so that addresses stay and pages that are there are used again. Demand
// beyond the reservation moves the pages, without a copy, to one that is several times larger.
// All but small arenas are made of huge pages, as far as the system agrees.
// When the runs of two windows have left the end unused, it goes back to the system. Steady
// shapes, and random ones whose largest come now and then, never get there.
//
// Ownership: an Arena owns its mapping; addresses are valid until the next call.
// Thread-safety: none; each run has an Arena of its own.
// Failure: std::bad_alloc (NotAvailable where the system has no such memory), and the Arena stays
// usable.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anyshape {

class Arena {
   public:
    static constexpr std::uint32_t window = 256;  // runs

    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() { release(); }

    // For one run: at least `bytes`, on a page boundary. The content is undefined.
    std::byte* ensure(std::size_t bytes);

    // At least `bytes` from now on, with memory behind them, however little runs ask for.
    void reserve(std::size_t bytes);

    // Gives back everything, what was reserved too.
    void release() noexcept;

    std::byte* data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }  // usable without asking the system
    std::size_t floor() const noexcept { return floor_; }  // reserved by the user

   private:
    void grow(std::size_t bytes);
    void grow_to(std::size_t wanted);
    void move_to(std::size_t reserved);
    void drop_small_pages() noexcept;
    void end_window() noexcept;

    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t reserved_bytes_ = 0;  // address space
    std::size_t floor_ = 0;
    std::size_t peak_ = 0;       // the most that a run of this window asked for
    std::size_t last_peak_ = 0;  // and one of the window before
    std::uint32_t runs_ = 0;     // of this window
};

}  // namespace anyshape
