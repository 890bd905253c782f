#include "core/fork_safe.h"

#include <pthread.h>

#include <atomic>

namespace anyshape {
namespace {

std::mutex list_mutex;
ForkSafeMutex* first = nullptr;
std::atomic<std::uint64_t> fork_count = 0;

}  // namespace

struct ForkSafeList {
    static void add(ForkSafeMutex& mutex) {
        const std::lock_guard lock(list_mutex);
        mutex.next_ = first;
        if (first != nullptr) first->previous_ = &mutex;
        first = &mutex;
    }

    static void remove(ForkSafeMutex& mutex) {
        const std::lock_guard lock(list_mutex);
        if (mutex.next_ != nullptr) mutex.next_->previous_ = mutex.previous_;
        (mutex.previous_ != nullptr ? mutex.previous_->next_ : first) = mutex.next_;
    }

    static void before_fork() {
        list_mutex.lock();
        for (ForkSafeMutex* mutex = first; mutex != nullptr; mutex = mutex->next_) mutex->lock();
    }

    static void after_fork() {
        for (ForkSafeMutex* mutex = first; mutex != nullptr; mutex = mutex->next_) mutex->unlock();
        list_mutex.unlock();
    }

    static void in_child() {
        fork_count.fetch_add(1, std::memory_order_relaxed);
        after_fork();
    }
};

namespace {

// When the library is loaded, before there is anything to lock.
[[maybe_unused]] const int registered =
    pthread_atfork(ForkSafeList::before_fork, ForkSafeList::after_fork, ForkSafeList::in_child);

}  // namespace

ForkSafeMutex::ForkSafeMutex() { ForkSafeList::add(*this); }

ForkSafeMutex::~ForkSafeMutex() { ForkSafeList::remove(*this); }

std::uint64_t forks() noexcept { return fork_count.load(std::memory_order_relaxed); }

}  // namespace anyshape
