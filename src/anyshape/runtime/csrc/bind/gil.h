// Python's global interpreter lock, given up for a while. Binding layer.
//
// When the interpreter is shut down it ends every thread that asks for its lock, by unwinding the
// thread's stack; through C++ frames that may not throw, that ends the process instead. So such a
// thread goes to sleep here, for the moment that is left.
//
// Callers of small models hold the lock for a few microseconds between two calls. Who asks for it
// meanwhile is put to sleep by Python, and where there are more threads than CPUs it wakes up much
// later. So a thread that comes back first looks for a moment whether the one that came back last,
// and not long ago, gives it up again (docs/design/0011).
//
// Thread-safety: belongs to the thread that made it.
#pragma once

#include <Python.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "core/cpu_relax.h"
#include "core/machine.h"

namespace anyshape {

class WithoutGil {
   public:
    WithoutGil() noexcept { give_up(); }
    ~WithoutGil() { take(); }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

    // Takes the lock for a moment and lets Python handle the signals that have come. True if that
    // raised an exception, which stays set.
    bool signals_raise() noexcept {
        take();
        const bool raised = PyErr_CheckSignals() != 0;
        give_up();
        return raised;
    }

    // Takes the lock for as long as `function` runs. What it throws comes through without the lock.
    template <typename Function>
    void with_gil(const Function& function) {
        take();
        try {
            function();
        } catch (...) {
            give_up();
            throw;
        }
        give_up();
    }

   private:
    void give_up() noexcept {
        thread_ = PyEval_SaveThread();
        const PyThreadState* holder = thread_;
        holder_.compare_exchange_strong(holder, nullptr, std::memory_order_relaxed);
    }

    void take() noexcept {
        wait_a_moment();
        try {
            PyEval_RestoreThread(thread_);
            taken_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
            holder_.store(thread_, std::memory_order_relaxed);
        } catch (...) {  // a forced unwind: C throws nothing else, and it has no object to refer to
            while (true) pause();
        }
    }

    // Who has held it for longer does more than call us, or has given it up elsewhere.
    static void wait_a_moment() noexcept {
        constexpr auto moment = std::chrono::microseconds(5), between_calls = 2 * moment;
        static const bool has_other_cpus = read_machine().cpus > 1;
        const auto is_held = [] { return holder_.load(std::memory_order_relaxed) != nullptr; };
        if (!has_other_cpus || !is_held()) return;
        const Clock::duration taken(taken_.load(std::memory_order_relaxed));
        const auto end = std::min(Clock::now() + moment, Clock::time_point(taken) + between_calls);
        while (is_held() && Clock::now() < end) cpu_relax();
    }

    using Clock = std::chrono::steady_clock;

    // Who took the lock here last and has not given it up here, and when. It may be gone: a hint,
    // never followed.
    static inline std::atomic<const PyThreadState*> holder_ = nullptr;
    static inline std::atomic<Clock::rep> taken_ = 0;

    PyThreadState* thread_ = nullptr;
};

// Python runs signal handlers there, and only there.
inline bool on_main_thread() noexcept { return gettid() == getpid(); }

}  // namespace anyshape
