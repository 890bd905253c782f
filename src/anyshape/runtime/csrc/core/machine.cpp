#include "core/machine.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

#ifdef __linux__
#include <sched.h>

#include <cerrno>
#include <memory>
#endif
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/cgroup.h"

namespace anyshape {
namespace {

namespace fs = std::filesystem;

// ---- cgroups ---------------------------------------------------------------------------------

std::optional<double> quota_over_period(double quota, double period) {
    if (quota <= 0 || period <= 0) return std::nullopt;  // v1 writes "no limit" as -1
    return quota / period;
}

// The limit set on one cgroup itself.
std::optional<double> quota_of_group(const fs::path& group, CgroupVersion version) {
    double quota = 0;
    double period = 0;
    if (version == CgroupVersion::v2) {
        std::ifstream max_file(group / "cpu.max");  // "50000 100000", or "max 100000"
        if (!(max_file >> quota >> period)) return std::nullopt;
    } else {
        std::ifstream quota_file(group / "cpu.cfs_quota_us");
        std::ifstream period_file(group / "cpu.cfs_period_us");
        if (!(quota_file >> quota && period_file >> period)) return std::nullopt;
    }
    return quota_over_period(quota, period);
}

// An absent limit is infinite.
std::optional<double> tighter(std::optional<double> a, std::optional<double> b) {
    if (a && b) return std::min(*a, *b);
    return a ? a : b;
}

// A cgroup gets no more time than any of its ancestors.
std::optional<double> hierarchy_quota(const fs::path& root, CgroupVersion version) {
    std::optional<double> quota;
    for (const fs::path& group : cgroup_directories(root, "cpu", version)) {
        quota = tighter(quota, quota_of_group(group, version));
    }
    return quota;
}

// ---- caches ----------------------------------------------------------------------------------

// "48K", "2048K", "32M" or plain bytes; 0 if unreadable.
std::int64_t read_size(const fs::path& path) {
    std::ifstream file(path);
    std::int64_t size = 0;
    char unit = ' ';
    if (!(file >> size) || size < 0) return 0;
    file >> unit;
    if (unit == 'K') return size << 10;
    if (unit == 'M') return size << 20;
    return size;
}

std::string read_word(const fs::path& path) {
    std::ifstream file(path);
    std::string word;
    file >> word;
    return word;
}

// Fills what sysfs left unknown from the C library, which on x86 asks the CPU itself.
CacheSizes with_sysconf(CacheSizes caches) {
    const auto fill = [](std::int64_t& size, int name) {
        if (size == 0) size = std::max<std::int64_t>(0, sysconf(name));
    };
#ifdef _SC_LEVEL1_DCACHE_SIZE
    fill(caches.l1d, _SC_LEVEL1_DCACHE_SIZE);
    fill(caches.l2, _SC_LEVEL2_CACHE_SIZE);
    fill(caches.l3, _SC_LEVEL3_CACHE_SIZE);
    fill(caches.line, _SC_LEVEL1_DCACHE_LINESIZE);
#else
    (void)fill;
#endif
    return caches;
}

}  // namespace

#ifdef __linux__
int affinity_cpus() {
    // The kernel refuses a mask smaller than its own, and says so; start at 1024 CPUs and grow.
    struct Free {
        void operator()(cpu_set_t* set) const { CPU_FREE(set); }
    };
    for (int capacity = 1024; capacity <= (1 << 20); capacity *= 2) {
        const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(capacity));
        const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
        if (!set) break;
        if (sched_getaffinity(0, bytes, set.get()) == 0) {
            return std::max(1, CPU_COUNT_S(bytes, set.get()));
        }
        if (errno != EINVAL) break;
    }
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}
#else
int affinity_cpus() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }
#endif

std::optional<double> cgroup_cpu_quota(const fs::path& root) {
    return tighter(hierarchy_quota(root, CgroupVersion::v2),
                   hierarchy_quota(root, CgroupVersion::v1));
}

int allowed_cpus(int affinity_cpus, std::optional<double> cpu_quota) noexcept {
    if (!cpu_quota) return affinity_cpus;
    const double granted = std::max(1.0, std::ceil(*cpu_quota));
    return granted < affinity_cpus ? static_cast<int>(granted) : affinity_cpus;
}

CacheSizes sysfs_cache_sizes(const fs::path& root) {
    CacheSizes caches;
    for (int index = 0;; ++index) {
        const fs::path dir =
            root / "sys/devices/system/cpu/cpu0/cache" / ("index" + std::to_string(index));
        const std::string type = read_word(dir / "type");
        if (type.empty()) return caches;
        if (type != "Data" && type != "Unified") continue;
        const std::string level = read_word(dir / "level");
        const std::int64_t size = read_size(dir / "size");
        if (level == "1") caches.l1d = size;
        if (level == "2") caches.l2 = size;
        if (level == "3") caches.l3 = size;
        if (caches.line == 0) caches.line = read_size(dir / "coherency_line_size");
    }
}

VectorIsa vector_isa() noexcept {
#if defined(__x86_64__)
    __builtin_cpu_init();
    // The builtins answer no for AVX state that the operating system has not enabled.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return VectorIsa::avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return VectorIsa::avx2;
    return VectorIsa::sse2;
#elif defined(__aarch64__)
    return VectorIsa::neon;
#else
    return VectorIsa::scalar;
#endif
}

#if defined(__x86_64__)
namespace {

// Bits of cpuid, by leaf and register. Compilers name only some of these.
constexpr std::uint32_t v2_of_1_ecx =  // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT
    1U << 0 | 1U << 9 | 1U << 13 | 1U << 19 | 1U << 20 | 1U << 23;
constexpr std::uint32_t v3_of_1_ecx =  // FMA, MOVBE, XSAVE, OSXSAVE, AVX, F16C
    1U << 12 | 1U << 22 | 1U << 26 | 1U << 27 | 1U << 28 | 1U << 29;
constexpr std::uint32_t v3_of_7_ebx = 1U << 3 | 1U << 5 | 1U << 8;  // BMI1, AVX2, BMI2
constexpr std::uint32_t v4_of_7_ebx =  // AVX-512 F, DQ, CD, BW, VL
    1U << 16 | 1U << 17 | 1U << 28 | 1U << 30 | 1U << 31;
constexpr std::uint32_t v2_of_extended_ecx = 1U << 0;  // LAHF
constexpr std::uint32_t v3_of_extended_ecx = 1U << 5;  // LZCNT

bool has(std::uint32_t bits, std::uint32_t all) { return (bits & all) == all; }

}  // namespace
#endif

const char* cpu_level() noexcept {
#if defined(__x86_64__)
    std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0, features = 0, extended = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) features = ecx;
    if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) != 0) extended = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) ebx = 0;
    const bool v2 = has(features, v2_of_1_ecx) && has(extended, v2_of_extended_ecx);
    const bool v3 = v2 && has(features, v3_of_1_ecx) && has(extended, v3_of_extended_ecx) &&
                    has(ebx, v3_of_7_ebx) && vector_isa() <= VectorIsa::avx2;
    // vector_isa() knows whether the operating system saves these registers.
    if (v3 && has(ebx, v4_of_7_ebx) && vector_isa() == VectorIsa::avx512) return "x86-64-v4";
    if (v3) return "x86-64-v3";
    return v2 ? "x86-64-v2" : "x86-64";
#elif defined(__aarch64__)
    return "aarch64";
#else
    return "";
#endif
}

bool byte_products() noexcept {
#if defined(__x86_64__)
    switch (vector_isa()) {
        case VectorIsa::avx512: return __builtin_cpu_supports("avx512vnni");
        case VectorIsa::avx2: return __builtin_cpu_supports("avxvnni");
        default: return false;
    }
#else
    return false;
#endif
}

const char* name_of(VectorIsa isa) noexcept {
    switch (isa) {
        case VectorIsa::avx512: return "avx512";
        case VectorIsa::avx2: return "avx2";
        case VectorIsa::sse2: return "sse2";
        case VectorIsa::neon: return "neon";
        case VectorIsa::scalar: return "scalar";
    }
    return "scalar";
}

Machine read_machine() {
    Machine machine;
    machine.affinity_cpus = affinity_cpus();
    machine.cpu_quota = cgroup_cpu_quota("/");
    machine.cpus = allowed_cpus(machine.affinity_cpus, machine.cpu_quota);
    machine.caches = with_sysconf(sysfs_cache_sizes("/"));
    machine.vector_isa = vector_isa();
    machine.byte_products = byte_products();
    return machine;
}

}  // namespace anyshape
