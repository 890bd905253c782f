// What to do between two looks at something another thread is about to change.
#pragma once

namespace anyshape {

// Tells the processor that this thread waits in a loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace anyshape
