// Mutexes that a fork leaves usable in the child.
//
// A child has one thread and a copy of all memory. A lock that another thread of the parent held
// would stay locked there for ever, and what it guards would stay half changed. So whoever forks
// first takes every lock below, and both sides let go of them afterwards.
//
// Rules: a thread holds at most one of these locks at a time, does not wait for the interpreter's
// lock meanwhile, and does not fork.
// Ownership: a mutex lists itself from its construction to its destruction.
// Thread-safety: as std::mutex.
#pragma once

#include <cstdint>
#include <mutex>

namespace anyshape {

class ForkSafeMutex {
   public:
    ForkSafeMutex();
    ~ForkSafeMutex();
    ForkSafeMutex(const ForkSafeMutex&) = delete;
    ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

   private:
    friend struct ForkSafeList;
    std::mutex mutex_;
    ForkSafeMutex* previous_ = nullptr;
    ForkSafeMutex* next_ = nullptr;
};

// How many forks there are between this process and the one that loaded the library. Another
// number than before means: the threads that were here are gone.
std::uint64_t forks() noexcept;

}  // namespace anyshape
