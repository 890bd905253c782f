// The process's team of threads.
//
// The caller of run() is member 0; the others are workers, which spin for a moment after each run,
// because the next one often comes soon, and then sleep: an idle process uses no CPU. A worker is
// started when a run first asks for so many members.
//
// Ownership: the process's team is never destroyed. Its threads end with the process; after a fork,
// the child has a team of its own as soon as it needs one.
// Thread-safety: every method may be called from any thread. A team does one thing at a time: when
// it is busy, try_run() says so at once, and run() waits: those who wait come in one after the
// other, in the order in which they came. Callers that go alone say so, because each needs a CPU
// that a worker could only take away from it: try_run() does with fewer members then, or none.
// Failure: workers that cannot be started are not in the team.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/cpu_relax.h"
#include "core/stop.h"

namespace anyshape {

class Team {
   public:
    // Work for all members; called once by each that takes part. Must not throw.
    struct Job {
        void (*work)(void* what, int member) noexcept;
        void* what = nullptr;
    };

    // At most as many members as CPUs are allowed to this process when it is first called.
    static Team& process();

    // Worker m of the process's team runs on CPU cpus[m] from here on, in children of forks too; those
    // beyond the list, and callers, run where they did. False, and nothing is done, if other CPUs were
    // chosen before. A CPU that the process may no longer use is as if it were not chosen.
    static bool take_affinity(std::span<const int> cpus);
    static std::vector<int> affinity();

    // Has so many members, if they can be had, so that no run waits for them to start. One that is
    // busy starts them by itself.
    void prepare(int members) noexcept { try_run({.work = [](void*, int) noexcept {}}, members); }

    explicit Team(int most, std::chrono::nanoseconds spin = std::chrono::microseconds(50));
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // The caller and the workers that were started so far.
    int members() const noexcept { return 1 + started_.load(std::memory_order_relaxed); }

    // While it lives, its thread computes without the team.
    class Alone {
       public:
        explicit Alone(Team& team) noexcept : team_(team) { team_.alone_.fetch_add(1); }
        ~Alone() { team_.alone_.fetch_sub(1); }
        Alone(const Alone&) = delete;
        Alone& operator=(const Alone&) = delete;

       private:
        Team& team_;
    };

    // Calls work(what, 0) on this thread and work(what, m) on those workers m < members that come
    // in time; returns when all are done. If the team is busy, or callers that go alone leave no
    // CPU for a worker, returns false and calls nothing.
    bool try_run(Job job, int members) noexcept;

    // The same with all members, when it is our turn. If `stop` (which may be null) comes first, or
    // this thread has the team already, returns false and calls nothing.
    bool run(Job job, int members, Stop* stop);

   private:
    bool try_take() noexcept { return !busy_.test_and_set(); }
    bool wait_for_turn(Stop* stop);
    void run_taken(Job job, int members) noexcept;
    void let_go() noexcept;
    void start(int members) noexcept;
    void name(int worker) noexcept;
    void put_on_cpu(int worker) noexcept;
    void serve(int member) noexcept;
    std::uint32_t next_round(std::uint32_t seen) const noexcept;
    void take_part(int member) noexcept;

    static constexpr std::size_t line = 64;  // what different threads write lies on different lines

    const std::chrono::nanoseconds spin_;
    alignas(line) std::atomic<std::uint32_t> round_ = 0;  // grows by one with each run
    std::atomic<bool> open_ = false;                      // workers may come in
    std::atomic<bool> stop_ = false;
    Job job_{};                                  // written while closed and nobody is inside
    int invited_ = 0;                            // likewise
    alignas(line) std::atomic<int> inside_ = 0;  // workers that are in, or just looking
    alignas(line) std::atomic_flag busy_;
    std::atomic<int> alone_ = 0;    // callers that go alone
    std::atomic<int> waiting_ = 0;  // callers in line_, for who lets go
    int most_;                      // members; lower once a worker could not be started
    std::atomic<int> started_ = 0;  // workers; like most_ and workers_ written by who has the team,
                                    // and these with the lock of those that start
    std::vector<std::thread> workers_;
    std::mutex line_mutex_;
    std::condition_variable moved_;
    std::deque<std::uint64_t> line_;  // tickets
    std::uint64_t next_ticket_ = 0;
};

}  // namespace anyshape
