// Memory is asked for before it is touched.
//
// Linux grants address space that nothing stands behind, and ends the process that touches more
// than there is. So whoever takes a lot of memory first asks whether it exists: in the machine, and
// in the control groups that this process is in.
//
//   available_memory  what the system says now
//   CallMemory        what one call takes. The system is asked when the first large piece is taken,
//                     and what follows is counted: a piece that was granted may be touched later
//
// Ownership: a CallMemory belongs to the thread that makes it; they nest.
// Thread-safety: functions may be called from any thread; each thread counts for itself.
// Failure: a file that is missing or malformed is a source with nothing to say. NotAvailable.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <new>
#include <optional>

namespace anyshape {

inline constexpr std::int64_t unlimited_memory = std::numeric_limits<std::int64_t>::max();

// Bytes that the machine and the control groups can still give, what they hold in caches of files
// and in free swap included; unlimited_memory if nobody says.
std::int64_t available_memory(const std::filesystem::path& root);

// Bytes that this process may still map: RLIMIT_AS and RLIMIT_DATA. The system itself refuses what
// is beyond; this is for the message.
std::int64_t mappable_memory(const std::filesystem::path& root);

// A piece that is not there.
class NotAvailable : public std::bad_alloc {
   public:
    explicit NotAvailable(std::int64_t available) : available(available) {}
    const char* what() const noexcept override { return "memory that does not exist"; }

    std::int64_t available;  // when the call began to take memory
};

class CallMemory {
   public:
    // Smaller pieces are taken without a question: reading what the system says takes as long as
    // touching some of this.
    static constexpr std::int64_t asked_from = std::int64_t{16} << 20;

    CallMemory() noexcept;
    ~CallMemory();
    CallMemory(const CallMemory&) = delete;
    CallMemory& operator=(const CallMemory&) = delete;

    // Before a piece of memory is taken from the system. Throws NotAvailable; counts for the
    // innermost CallMemory of this thread, or by itself where there is none.
    static void require(std::size_t bytes) {
        if (bytes >= static_cast<std::size_t>(asked_from)) ask(bytes);
    }

   private:
    static void ask(std::size_t bytes);

    CallMemory* const outer_;
    std::optional<std::int64_t> available_;  // when it was first asked for
    std::int64_t taken_ = 0;
};

}  // namespace anyshape
