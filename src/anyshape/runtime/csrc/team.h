// The process's team of threads.
//
// The caller of run() is member 0; the others are workers, which spin for a moment after each run,
// because the next one often comes soon, and then sleep: an idle process uses no CPU.
//
// Ownership: the process's team is never destroyed. Its threads end with the process; after a fork,
// the child has a team of its own as soon as it needs one.
// Thread-safety: every method may be called from any thread. A team does one thing at a time: when
// it is busy, try_run() says so at once.
// Failure: workers that cannot be started are not in the team.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace anyshape {

// Tells the processor that this thread waits in a loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

class Team {
   public:
    // Work for all members; called once by each that takes part. Must not throw.
    struct Job {
        void (*work)(void* what, int member) noexcept;
        void* what;
    };

    // As many members as CPUs are allowed to this process when it is first called.
    static Team& process();

    explicit Team(int members, std::chrono::nanoseconds spin = std::chrono::microseconds(50));
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int members() const noexcept { return 1 + static_cast<int>(workers_.size()); }

    // Calls work(what, 0) on this thread and work(what, m) on those workers m < members that come
    // in time; returns when all are done. If the team is busy, returns false and calls nothing.
    bool try_run(Job job, int members) noexcept;

   private:
    void serve(int member) noexcept;
    std::uint32_t next_round(std::uint32_t seen) const noexcept;
    void take_part(int member) noexcept;

    static constexpr std::size_t line = 64;  // what different threads write lies on different lines

    const std::chrono::nanoseconds spin_;
    alignas(line) std::atomic<std::uint32_t> round_ = 0;  // grows by one with each run
    std::atomic<bool> open_ = false;                      // workers may come in
    std::atomic<bool> stop_ = false;
    Job job_{};        // written while closed and nobody is inside
    int invited_ = 0;  // likewise
    alignas(line) std::atomic<int> inside_ = 0;  // workers that are in, or just looking
    alignas(line) std::atomic_flag busy_;
    std::vector<std::thread> workers_;
};

}  // namespace anyshape
