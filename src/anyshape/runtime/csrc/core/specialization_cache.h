// The specializations made so far, by the symbols they were made for.
//
// Bounded by count and by bytes; the least recently used goes first, and lives on as long as a run
// uses it. A binding that several threads ask for at the same time is made by one of them, while
// the others wait for it. A cache that is full makes the next one in the memory of the one that goes.
//
// Ownership: shares each Specialization with the runs that use it.
// Thread-safety: every method may be called from any thread. `make` runs without the lock.
// Failure: if `make` throws, nothing is stored, and everyone who waited gets the same exception. A
// full cache has lost an entry then; its memory is for the next one.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/fork_safe.h"
#include "core/specialization.h"

namespace anyshape {

struct CacheLimits {
    std::size_t entries;
    std::size_t bytes;
};

struct CacheMetrics {
    std::uint64_t hits = 0;    // found, or waited for while another thread made it
    std::uint64_t misses = 0;  // made here, or failed to be made
    std::uint64_t evictions = 0;
    std::uint64_t make_ns = 0;  // spent in `make`
    std::size_t entries = 0;
    std::size_t bytes = 0;
};

class SpecializationCache {
   public:
    using Symbols = std::span<const std::int64_t>;
    using Entry = std::shared_ptr<const Specialization>;
    // Fills it in, see specialize_into(), perhaps like the one that was asked for last: it may be
    // null.
    using Make = std::function<void(Specialization&, const Specialization*)>;

    explicit SpecializationCache(CacheLimits limits) : limits_(limits) {}

    // Null if there is none. Counts as a hit or as nothing.
    Entry find(Symbols symbols);

    Entry find_or_make(Symbols symbols, const Make& make);

    CacheMetrics metrics() const;
    // The symbols of all entries, those first that were asked for last.
    std::vector<std::vector<std::int64_t>> bindings() const;
    void clear();

   private:
    struct Hash {
        std::size_t operator()(Symbols symbols) const noexcept;
    };
    struct Equal {
        bool operator()(Symbols a, Symbols b) const noexcept;
    };
    template <typename Value>
    using Map = std::unordered_map<Symbols, Value, Hash, Equal>;

    using Blank = std::shared_ptr<Specialization>;

    // One that a thread makes. Others who want it wait; there are hardly ever any, so the first of
    // them makes what they wait for. Lies with the maker: others reach it as long as it is in
    // `flights_`, and with the lock.
    class Flight {
       public:
        std::shared_future<Entry> landing();
        void land(const Entry& made);
        void fail(std::exception_ptr why);

       private:
        std::optional<std::promise<Entry>> promise_;
        std::shared_future<Entry> landing_;
    };

    Entry find_locked(Symbols symbols);
    Blank blank(Entry& latest);
    Blank recycled();
    void drop_oldest();
    Entry make_and_store(Symbols symbols, const Make& make);
    void store(Entry entry);
    void forget_flights_of_parent();
    void evict();

    const CacheLimits limits_;
    mutable ForkSafeMutex mutex_;
    std::list<Entry> recent_first_;
    Map<std::list<Entry>::iterator> entries_;  // keys lie in the entries
    Map<Flight*> flights_;  // keys, too, lie with the maker
    std::uint64_t flights_since_ = forks();
    Blank spare_;  // of one that could not be made
    CacheMetrics metrics_;
};

}  // namespace anyshape
