// What this process may use of the machine: CPUs, data caches, vector instructions.
//
// Ownership: every type is a plain value; nothing refers to another object or holds a resource.
// Thread-safety: every function is re-entrant and keeps no state; call any of them from any
// thread. affinity_cpus() and read_machine() answer for the calling thread, as the kernel does;
// threads it starts inherit that answer.
// Failure: a file that is missing or malformed is a source with nothing to say, not an error.
//
// `root` is the directory under which proc/ and sys/ are read: "/" for this machine, a made-up
// tree in tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace anyshape {

// Widest first. avx512 stands for F+BW+DQ+VL, avx2 for AVX2+FMA; sse2 is what every x86-64 has.
// An instruction set counts only if the operating system saves its registers.
enum class VectorIsa : std::uint8_t { avx512, avx2, sse2, neon, scalar };

// In bytes; 0 where unknown.
struct CacheSizes {
    std::int64_t l1d = 0;
    std::int64_t l2 = 0;
    std::int64_t l3 = 0;
    std::int64_t line = 0;
};

struct Machine {
    int cpus = 1;                     // threads worth running: allowed_cpus() of the next two
    int affinity_cpus = 1;            // CPUs the scheduler may put us on
    std::optional<double> cpu_quota;  // CPUs' worth of time the cgroups grant; nothing = unlimited
    CacheSizes caches;
    VectorIsa vector_isa = VectorIsa::scalar;
    bool byte_products = false;  // VNNI in that instruction set
};

// CPUs in the calling thread's affinity mask; at least 1.
int affinity_cpus();

// The tightest CPU quota on the way from the hierarchy's root to this process's own cgroup, over
// v2 (cpu.max) and v1 (cpu.cfs_quota_us / cpu.cfs_period_us). Nothing if unlimited or unknown.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root);

// The smaller of both limits. A quota rounds up: half a CPU runs one thread, 1.5 keep two busy.
int allowed_cpus(int affinity_cpus, std::optional<double> cpu_quota) noexcept;

// The caches of cpu0 as the kernel describes them in sysfs.
CacheSizes sysfs_cache_sizes(const std::filesystem::path& root);

VectorIsa vector_isa() noexcept;

// Whether four products of bytes are one instruction (VNNI) in the encoding of vector_isa().
bool byte_products() noexcept;

const char* name_of(VectorIsa isa) noexcept;

// The best level of the psABI that this CPU has in full, "x86-64-v3", or "aarch64"; empty for other
// architectures. Says more than vector_isa(): a level has integer instructions, too.
const char* cpu_level() noexcept;

// Everything above, for this machine, read anew on every call: affinity and quotas may change.
Machine read_machine();

}  // namespace anyshape
