// What may end a run before it is complete: a cancellation, a deadline, an interrupt, a fork.
//
// Whoever walks a schedule asks between ranges of tasks. A kernel that has begun is never broken
// off, so memory is whole when the run has ended, and everything can be used again.
//
// Ownership: a Stop belongs to one run; it refers to a cancellation that its maker keeps alive.
// Thread-safety: all members of a team ask one Stop at the same time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>

#include "core/fork_safe.h"

namespace anyshape {

// Set by any thread, never reset; many runs may look at one.
class Cancellation {
   public:
    void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
    bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

   private:
    std::atomic<bool> cancelled_ = false;
};

enum class StopReason : std::uint8_t { none, cancelled, deadline, interrupt, fork };

// Thrown by a run that was ended.
class Stopped : public std::exception {
   public:
    explicit Stopped(StopReason reason) : reason(reason) {}
    const char* what() const noexcept override { return "the run was ended"; }

    StopReason reason;
};

class Stop {
   public:
    using Clock = std::chrono::steady_clock;  // Python's time.monotonic()

    struct Limits {
        const Cancellation* cancellation = nullptr;
        Clock::time_point deadline = Clock::time_point::max();
        // Asked now and then, on the calling thread alone. Must not throw.
        bool (*interrupted)(void* what) noexcept = nullptr;
        void* what = nullptr;
    };

    explicit Stop(Limits limits) noexcept : limits_(limits), next_look_(Clock::now() + patience) {}

    // `member` as in team.h: 0 is the calling thread.
    bool requested(int member) noexcept {
        if (reason_.load(std::memory_order_relaxed) != StopReason::none) return true;
        if (limits_.cancellation != nullptr && limits_.cancellation->cancelled()) {
            return give(StopReason::cancelled);
        }
        return look_at_clock(member);
    }

    void check() {
        if (requested(0)) throw Stopped(reason());
    }

    // When the last task is done: to be late is to fail, however the tasks were divided. Signals
    // are left to the interpreter, which sees to them when the call returns.
    void check_at_end() {
        const bool over = reason() != StopReason::none;
        if (!over && limits_.cancellation != nullptr && limits_.cancellation->cancelled()) {
            give(StopReason::cancelled);
        } else if (!over && limits_.deadline != Clock::time_point::max() &&
                   Clock::now() >= limits_.deadline) {
            give(StopReason::deadline);
        }
        if (reason() != StopReason::none) throw Stopped(reason());
    }

    StopReason reason() const noexcept { return reason_.load(std::memory_order_relaxed); }

   private:
    // An interrupt is for people: what is over sooner than this need not be broken off.
    static constexpr auto patience = std::chrono::milliseconds(50);

    bool give(StopReason reason) noexcept {
        reason_.store(reason, std::memory_order_relaxed);
        return true;
    }

    bool look_at_clock(int member) noexcept {
        const bool asks = limits_.interrupted != nullptr && member == 0;
        if (!asks && limits_.deadline == Clock::time_point::max()) return false;
        const Clock::time_point now = Clock::now();
        if (now >= limits_.deadline) return give(StopReason::deadline);
        if (!asks || now < next_look_) return false;
        next_look_ = now + patience;
        const std::uint64_t before = forks();
        if (limits_.interrupted(limits_.what)) return give(StopReason::interrupt);
        return forks() != before && give(StopReason::fork);  // others may have been at work
    }

    const Limits limits_;
    Clock::time_point next_look_;  // of member 0
    std::atomic<StopReason> reason_ = StopReason::none;
};

}  // namespace anyshape
