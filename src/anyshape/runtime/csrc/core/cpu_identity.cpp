#include "core/cpu_identity.h"

#include <cstdint>
#include <cstdio>
#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>

#include <fstream>
#endif

namespace anyshape {
namespace {

[[maybe_unused]] std::string in_hex(std::initializer_list<std::uint64_t> words) {
    std::string text;
    for (const std::uint64_t word : words) {
        char digits[24];
        std::snprintf(digits, sizeof digits, ":%llx", static_cast<unsigned long long>(word));
        text += digits;
    }
    return text;
}

#if defined(__x86_64__)

struct Registers {
    std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
    Registers r;
    if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
    return r;
}

// Which registers the operating system saves: AVX, AVX-512 and AMX count only if it does.
std::uint64_t saved_state(const Registers& features) {
    if ((features.ecx & bit_OSXSAVE) == 0) return 0;
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (std::uint64_t{high} << 32) | low;
}

// Leaf 1's ebx is left out: it holds the number of the core that we happen to run on.
std::string identity() {
    const Registers maker = cpuid(0), model = cpuid(1), seven = cpuid(7), seven_one = cpuid(7, 1);
    const Registers xsave = cpuid(0xD, 1), avx10 = cpuid(0x24), extended = cpuid(0x80000001);
    return "x86-64" + in_hex({maker.ebx, maker.ecx, maker.edx, model.eax, model.ecx, model.edx}) +
           in_hex({seven.ebx, seven.ecx, seven.edx, seven_one.eax, seven_one.ebx, seven_one.edx}) +
           in_hex({xsave.eax, avx10.ebx, extended.ecx, extended.edx, saved_state(model)});
}

#elif defined(__aarch64__)

std::string identity() {
    std::ifstream file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
    std::string model = "unknown";
    file >> model;
    return "aarch64:" + model + in_hex({getauxval(AT_HWCAP), getauxval(AT_HWCAP2)});
}

#else

std::string identity() { return "unknown"; }

#endif

}  // namespace

std::string cpu_identity() { return identity(); }

}  // namespace anyshape
