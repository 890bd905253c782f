// Makes allocations of the runtime fail, one after the other. Loaded before everything else:
//
//   LD_PRELOAD=failing_memory.so python -m tests.unit.runtime.faults
//
// The library under test is the one that users have; nothing is built into it. `new` counts
// whoever calls it, because the standard library does so on the runtime's behalf; pages and
// aligned blocks count only if the runtime itself asks for them.
//
// Thread-safety: only allocations of the thread that called fail_at() count.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

thread_local bool armed = false;
thread_local long seen = 0;
thread_local long failing = 0;
std::atomic<bool> threads_fail = false;
std::uintptr_t runtime_begin = 0;
std::uintptr_t runtime_end = 0;

bool fails_now() { return armed && seen++ == failing; }

bool is_runtime(const void* caller) {
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    return address >= runtime_begin && address < runtime_end;
}

int find_runtime(dl_phdr_info* info, std::size_t, void*) {
    if (std::strstr(info->dlpi_name, "/_native.") == nullptr) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& header = info->dlpi_phdr[i];
        if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
        runtime_begin = info->dlpi_addr + header.p_vaddr;
        runtime_end = runtime_begin + header.p_memsz;
    }
    return 1;
}

template <typename Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define CALLED_BY_RUNTIME is_runtime(__builtin_return_address(0))

extern "C" {

// The allocation with this number fails, counted from now on.
void fail_at(long number) {
    dl_iterate_phdr(find_runtime, nullptr);
    failing = number;
    seen = 0;
    armed = true;
}

// Ends it; how many allocations there were.
long stop_failing() {
    armed = false;
    return seen;
}

void fail_threads(int fail) { threads_fail = fail != 0; }

void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
    static const auto real = next<decltype(&mmap)>("mmap");
    if (CALLED_BY_RUNTIME && fails_now()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return real(address, bytes, protection, flags, file, offset);
}

int mprotect(void* address, std::size_t bytes, int protection) noexcept {
    static const auto real = next<decltype(&mprotect)>("mprotect");
    if (CALLED_BY_RUNTIME && fails_now()) {
        errno = ENOMEM;
        return -1;
    }
    return real(address, bytes, protection);
}

void* mremap(void* old, std::size_t old_bytes, std::size_t bytes, int flags, ...) noexcept {
    static const auto real = next<decltype(&mremap)>("mremap");
    va_list rest;
    va_start(rest, flags);
    void* target = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void*) : nullptr;
    va_end(rest);
    if (CALLED_BY_RUNTIME && fails_now()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return real(old, old_bytes, bytes, flags, target);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    static const auto real = next<decltype(&aligned_alloc)>("aligned_alloc");
    return CALLED_BY_RUNTIME && fails_now() ? nullptr : real(alignment, bytes);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
    static const auto real = next<decltype(&pthread_create)>("pthread_create");
    return threads_fail ? EAGAIN : real(thread, attributes, run, argument);
}

}  // extern "C"

void* operator new(std::size_t bytes) {
    void* data = fails_now() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
    if (data == nullptr) throw std::bad_alloc();
    return data;
}

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return fails_now() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}

void* operator new[](std::size_t bytes) { return operator new(bytes); }

void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
void operator delete[](void* data) noexcept { std::free(data); }
void operator delete[](void* data, std::size_t) noexcept { std::free(data); }
