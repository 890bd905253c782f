#include "core/available_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>

#include "core/cgroup.h"
#include "core/fork_safe.h"

namespace anyshape {
namespace {

namespace fs = std::filesystem;

thread_local CallMemory* current_call = nullptr;

// Of two amounts of which neither is negative.
std::int64_t sum(std::int64_t a, std::int64_t b) {
    return a > unlimited_memory - b ? unlimited_memory : a + b;
}

std::int64_t difference(std::int64_t a, std::int64_t b) { return a > b ? a - b : 0; }

// ---- files -----------------------------------------------------------------------------------

// A file with one number, or "max". v1 writes "no limit" as a number near 2^63.
std::optional<std::int64_t> read_bytes(const fs::path& path) {
    std::ifstream file(path);
    std::int64_t bytes = 0;
    if (!(file >> bytes) || bytes < 0) return std::nullopt;
    return bytes;
}

using Entries = std::array<std::int64_t, 2>;

// The numbers behind two names in a file with a name and a number on each line; 0 where not found.
Entries read_entries(const fs::path& path, const std::array<std::string, 2>& names) {
    Entries entries{};
    std::ifstream file(path);
    for (std::string name, rest; file >> name && std::getline(file, rest);) {
        if (name.ends_with(':')) name.pop_back();
        const auto known = std::ranges::find(names, name);
        if (known == names.end()) continue;
        const std::int64_t value = std::strtoll(rest.c_str(), nullptr, 10);
        entries[static_cast<std::size_t>(known - names.begin())] = std::max<std::int64_t>(value, 0);
    }
    return entries;
}

// ---- control groups --------------------------------------------------------------------------

// What one limit leaves; no limit if the files do not say. v1 writes "none" as almost 2^63.
std::int64_t left_of(const fs::path& limit, const fs::path& usage) {
    const auto most = read_bytes(limit);
    const auto used = read_bytes(usage);
    if (!most || !used || *most > unlimited_memory / 2) return unlimited_memory;
    return difference(*most, *used);
}

// Pages of files are given up before anybody is ended. Asking takes the system a while, so only
// groups that have a limit are asked.
std::int64_t with_file_cache(std::int64_t left, const fs::path& group, CgroupVersion version) {
    if (left == unlimited_memory) return left;
    const std::string prefix = version == CgroupVersion::v2 ? "" : "total_";
    const Entries entries =
        read_entries(group / "memory.stat", {prefix + "inactive_file", prefix + "active_file"});
    return sum(left, sum(entries[0], entries[1]));
}

std::int64_t left_in_v2(const fs::path& group, std::int64_t free_swap) {
    const std::int64_t memory = left_of(group / "memory.max", group / "memory.current");
    const std::int64_t swap = left_of(group / "memory.swap.max", group / "memory.swap.current");
    const std::int64_t left = sum(memory, std::min(swap, free_swap));
    return with_file_cache(left, group, CgroupVersion::v2);
}

std::int64_t left_in_v1(const fs::path& group, std::int64_t free_swap) {
    const std::int64_t memory =
        left_of(group / "memory.limit_in_bytes", group / "memory.usage_in_bytes");
    const std::int64_t with_swap =
        left_of(group / "memory.memsw.limit_in_bytes", group / "memory.memsw.usage_in_bytes");
    const std::int64_t left = std::min(sum(memory, free_swap), with_swap);
    return with_file_cache(left, group, CgroupVersion::v1);
}

std::int64_t left_in_groups(const fs::path& root, std::int64_t free_swap) {
    std::int64_t left = unlimited_memory;
    for (const fs::path& group : cgroup_directories(root, "memory", CgroupVersion::v2)) {
        left = std::min(left, left_in_v2(group, free_swap));
    }
    for (const fs::path& group : cgroup_directories(root, "memory", CgroupVersion::v1)) {
        left = std::min(left, left_in_v1(group, free_swap));
    }
    return left;
}

// ---- limits of the process -------------------------------------------------------------------

std::int64_t left_of_resource(int resource, std::int64_t used_pages) {
    rlimit limit{};
    if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 ||
        limit.rlim_cur > static_cast<rlim_t>(unlimited_memory)) {
        return unlimited_memory;
    }
    return difference(static_cast<std::int64_t>(limit.rlim_cur), used_pages * getpagesize());
}

// ---- what was read last ----------------------------------------------------------------------

// Reading takes a tenth of a millisecond or more. While memory is plentiful, what was read a moment
// ago will do, less what was granted since.
class LastReading {
   public:
    static LastReading& process() {
        static LastReading& reading = *std::make_unique<LastReading>().release();
        return reading;
    }

    // What is available: read now, unless there was twice as much as `wanted` a moment ago.
    std::int64_t at_least(std::int64_t wanted) {
        const Clock::time_point now = Clock::now();
        {
            const std::lock_guard lock(mutex_);
            if (now < good_until_ && wanted <= left_ / 2) return left_;
        }
        const std::int64_t available = available_memory("/");
        const std::lock_guard lock(mutex_);
        left_ = available;
        good_until_ = now + moment;
        return available;
    }

    void take(std::int64_t bytes) noexcept {
        const std::lock_guard lock(mutex_);
        left_ = difference(left_, bytes);
    }

   private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto moment = std::chrono::milliseconds(100);

    ForkSafeMutex mutex_;
    Clock::time_point good_until_;
    std::int64_t left_ = 0;
};

}  // namespace

std::int64_t available_memory(const fs::path& root) {
    constexpr std::int64_t kib = 1024;
    const Entries entries = read_entries(root / "proc/meminfo", {"MemAvailable", "SwapFree"});
    const std::int64_t machine = entries[0] * kib, free_swap = entries[1] * kib;
    const std::int64_t left = left_in_groups(root, free_swap);
    return machine == 0 ? left : std::min(left, sum(machine, free_swap));
}

std::int64_t mappable_memory(const fs::path& root) {
    std::ifstream statm(root / "proc/self/statm");
    std::int64_t size = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;
    if (!(statm >> size >> resident >> shared >> text >> library >> data)) return unlimited_memory;
    return std::min(left_of_resource(RLIMIT_AS, size), left_of_resource(RLIMIT_DATA, data));
}

CallMemory::CallMemory() noexcept : outer_(current_call) { current_call = this; }

CallMemory::~CallMemory() { current_call = outer_; }

void CallMemory::ask(std::size_t bytes) {
    const auto wanted =
        static_cast<std::int64_t>(std::min(bytes, static_cast<std::size_t>(unlimited_memory)));
    CallMemory own;  // where there is none
    CallMemory& call = own.outer_ != nullptr ? *own.outer_ : own;
    const std::int64_t total = sum(call.taken_, wanted);
    if (!call.available_) call.available_ = LastReading::process().at_least(total);
    if (total > *call.available_) throw NotAvailable(*call.available_);
    LastReading::process().take(wanted);
    call.taken_ = total;
}

}  // namespace anyshape
