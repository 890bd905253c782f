#include "core/team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "core/fork_safe.h"
#include "core/machine.h"

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

#ifdef __linux__
struct FreeCpuSet {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
#endif

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

// Only a handler of a signal meets itself there.
thread_local bool has_team = false;

std::atomic<Team*> process_team = nullptr;
std::mutex starting;

// With `starting`. Never destroyed: callers on other threads may outlive statics.
std::vector<int>& chosen_cpus = *std::make_unique<std::vector<int>>().release();

// The threads of a parent's team do not exist in its child: it starts anew, the old is lost.
[[maybe_unused]] const int registered =
    pthread_atfork([] { starting.lock(); }, [] { starting.unlock(); },
                   [] {
                       process_team.store(nullptr, std::memory_order_release);
                       starting.unlock();
                   });

}  // namespace

Team& Team::process() {
    if (Team* team = process_team.load(std::memory_order_acquire)) return *team;
    const std::lock_guard lock(starting);
    if (Team* team = process_team.load(std::memory_order_acquire)) return *team;
    auto team = std::make_unique<Team>(read_machine().cpus);
    process_team.store(team.get(), std::memory_order_release);
    return *team.release();
}

bool Team::take_affinity(std::span<const int> cpus) {
    const std::lock_guard lock(starting);
    if (!chosen_cpus.empty()) return std::ranges::equal(chosen_cpus, cpus);
    chosen_cpus.assign(cpus.begin(), cpus.end());
    if (Team* team = process_team.load(std::memory_order_acquire)) {
        for (int worker = 1; worker < team->members(); ++worker) team->put_on_cpu(worker);
    }
    return true;
}

std::vector<int> Team::affinity() {
    const std::lock_guard lock(starting);
    return chosen_cpus;
}

// By who starts it: a worker may come to run long after the call that it was started for.
void Team::name(int worker) noexcept {
    const std::string name = "anyshape-" + std::to_string(worker);
    const auto place = static_cast<std::size_t>(worker);
    pthread_setname_np(workers_[place - 1].native_handle(), name.c_str());
}

// With `starting`.
void Team::put_on_cpu([[maybe_unused]] int worker) noexcept {
#ifdef __linux__
    const auto place = static_cast<std::size_t>(worker);
    if (place >= chosen_cpus.size()) return;
    const int cpu = chosen_cpus[place];
    const int capacity = std::max(CPU_SETSIZE, cpu + 1);
    const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
    const std::unique_ptr<cpu_set_t, FreeCpuSet> set(CPU_ALLOC(capacity));
    if (!set) return;
    CPU_ZERO_S(bytes, set.get());
    CPU_SET_S(cpu, bytes, set.get());
    pthread_setaffinity_np(workers_[place - 1].native_handle(), bytes, set.get());
#endif
}

Team::Team(int most, std::chrono::nanoseconds spin) : spin_(spin), most_(std::max(most, 1)) {
    workers_.reserve(static_cast<std::size_t>(most_));
}

void Team::start(int members) noexcept {
    const SignalsBlocked blocked;
    const int wanted = std::min(members, most_);
    try {
        const std::lock_guard lock(starting);
        for (int member = Team::members(); member < wanted; ++member) {
            workers_.emplace_back([this, member] { serve(member); });
            name(member);
            put_on_cpu(member);
            started_.store(member, std::memory_order_relaxed);
        }
    } catch (const std::exception&) {
        most_ = Team::members();  // a smaller team: no thread, or no memory for one
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
    if (!try_take()) return false;
    const int alone = alone_.load(std::memory_order_relaxed);
    const bool has_room = alone == 0 || most_ - alone > 1;
    if (has_room) {
        run_taken(job, std::min(members, most_ - alone));
    } else {
        let_go();
    }
    return has_room;
}

bool Team::run(Job job, int members, Stop* stop) {
    if (has_team || !wait_for_turn(stop)) return false;
    run_taken(job, members);
    return true;
}

// Who waits first says so and then looks whether the team is busy; who lets go first clears that
// and then looks whether someone waits.
bool Team::wait_for_turn(Stop* stop) {
    constexpr auto between_looks = std::chrono::milliseconds(1);  // at `stop`
    std::unique_lock lock(line_mutex_);
    const std::uint64_t ticket = next_ticket_++;
    line_.push_back(ticket);
    waiting_.fetch_add(1);
    const auto is_our_turn = [&] { return line_.front() == ticket && try_take(); };
    bool stopped = false;
    while (!stopped && !moved_.wait_for(lock, between_looks, is_our_turn)) {
        lock.unlock();
        stopped = stop != nullptr && stop->requested(0);
        lock.lock();
    }
    waiting_.fetch_sub(1);
    std::erase(line_, ticket);
    if (stopped) moved_.notify_all();  // it may be the turn of the next
    return !stopped;
}

void Team::let_go() noexcept {
    busy_.clear();
    if (waiting_.load() == 0) return;
    {
        const std::lock_guard lock(line_mutex_);
    }  // nobody is between looking and waiting
    moved_.notify_all();
}

void Team::run_taken(Job job, int members) noexcept {
    if (members > Team::members() && Team::members() < most_) start(members);
    const std::uint64_t before = forks();
    job_ = job;
    invited_ = members;
    open_.store(true);
    round_.fetch_add(1);
    round_.notify_all();
    has_team = true;
    job.work(job.what, 0);
    has_team = false;
    open_.store(false);
    spin_until([&] { return inside_.load() == 0 || forks() != before; });
    if (forks() == before) let_go();  // else nobody has this team any more
}

void Team::serve(int member) noexcept {
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
