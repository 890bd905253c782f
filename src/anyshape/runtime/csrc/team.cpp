#include "team.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>

#include "machine.h"

namespace anyshape {
namespace {

// Threads started while this lives get no signals: those are for the threads of the program.
class SignalsBlocked {
   public:
    SignalsBlocked() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

   private:
    sigset_t before_;
};

// Polls until `done()`. After a while it lets others run: somebody may have more threads than CPUs.
template <typename Done>
void spin_until(Done done) noexcept {
    for (int polls = 0; !done(); ++polls) {
        if (polls < 4096) {
            cpu_relax();
        } else {
            std::this_thread::yield();
        }
    }
}

std::atomic<Team*> process_team = nullptr;
std::mutex starting;

}  // namespace

Team& Team::process() {
    if (Team* team = process_team.load(std::memory_order_acquire)) return *team;
    const std::lock_guard lock(starting);
    if (Team* team = process_team.load(std::memory_order_acquire)) return *team;
    // The threads of a parent's team do not exist in its child: it starts anew, the old is lost.
    static const int registered = pthread_atfork(
        [] { starting.lock(); }, [] { starting.unlock(); },
        [] {
            process_team.store(nullptr, std::memory_order_release);
            starting.unlock();
        });
    (void)registered;
    auto team = std::make_unique<Team>(read_machine().cpus);
    process_team.store(team.get(), std::memory_order_release);
    return *team.release();
}

Team::Team(int members, std::chrono::nanoseconds spin) : spin_(spin) {
    const SignalsBlocked blocked;
    workers_.reserve(static_cast<std::size_t>(std::max(members, 1)));
    try {
        for (int member = 1; member < members; ++member) {
            workers_.emplace_back([this, member] { serve(member); });
        }
    } catch (const std::system_error&) {
        // A smaller team.
    }
}

Team::~Team() {
    stop_.store(true);
    round_.fetch_add(1);
    round_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

// A worker first says that it is inside and then looks whether it may be; the caller first closes
// and then looks whether anyone is inside. Both in one total order, so one of them sees the other.
bool Team::try_run(Job job, int members) noexcept {
    if (busy_.test_and_set(std::memory_order_acquire)) return false;
    job_ = job;
    invited_ = members;
    open_.store(true);
    round_.fetch_add(1);
    round_.notify_all();
    job.work(job.what, 0);
    open_.store(false);
    spin_until([&] { return inside_.load() == 0; });
    busy_.clear(std::memory_order_release);
    return true;
}

void Team::serve(int member) noexcept {
    pthread_setname_np(pthread_self(), ("anyshape-" + std::to_string(member)).c_str());
    std::uint32_t seen = 0;
    while (true) {
        seen = next_round(seen);
        if (stop_.load()) return;
        take_part(member);
    }
}

std::uint32_t Team::next_round(std::uint32_t seen) const noexcept {
    constexpr int polls_per_look = 64;  // at the clock
    const auto deadline = std::chrono::steady_clock::now() + spin_;
    do {
        for (int polls = 0; polls < polls_per_look; ++polls) {
            const std::uint32_t round = round_.load(std::memory_order_acquire);
            if (round != seen) return round;
            cpu_relax();
        }
    } while (std::chrono::steady_clock::now() < deadline);
    round_.wait(seen);
    return round_.load(std::memory_order_acquire);
}

void Team::take_part(int member) noexcept {
    inside_.fetch_add(1);
    if (open_.load() && member < invited_) job_.work(job_.what, member);
    inside_.fetch_sub(1);
}

}  // namespace anyshape
