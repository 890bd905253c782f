#include "core/specialization_cache.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace anyshape {

std::size_t SpecializationCache::Hash::operator()(Symbols symbols) const noexcept {
    std::uint64_t hash = symbols.size();
    for (const std::int64_t symbol : symbols) {
        hash = (hash ^ static_cast<std::uint64_t>(symbol)) * 0x9e3779b97f4a7c15U;
        hash ^= hash >> 32;  // multiplication carries only upwards
    }
    return hash;
}

bool SpecializationCache::Equal::operator()(Symbols a, Symbols b) const noexcept {
    return std::ranges::equal(a, b);
}

SpecializationCache::Entry SpecializationCache::find(Symbols symbols) {
    const std::lock_guard lock(mutex_);
    return find_locked(symbols);
}

SpecializationCache::Entry SpecializationCache::find_locked(Symbols symbols) {
    const auto found = entries_.find(symbols);
    if (found == entries_.end()) return nullptr;
    ++metrics_.hits;
    recent_first_.splice(recent_first_.begin(), recent_first_, found->second);
    return *found->second;
}

SpecializationCache::Entry SpecializationCache::find_or_make(Symbols symbols, const Make& make) {
    std::unique_lock lock(mutex_);
    if (Entry entry = find_locked(symbols)) return entry;
    forget_flights_of_parent();
    if (const auto flight = flights_.find(symbols); flight != flights_.end()) {
        const std::shared_future<Entry> made = flight->second->landing();
        ++metrics_.hits;
        lock.unlock();
        return made.get();
    }
    ++metrics_.misses;
    Flight flight;
    flights_.emplace(symbols, &flight);
    lock.unlock();
    try {
        Entry entry = make_and_store(symbols, make);
        flight.land(entry);
        return entry;
    } catch (...) {
        flight.fail(std::current_exception());
        throw;
    }
}

std::shared_future<SpecializationCache::Entry> SpecializationCache::Flight::landing() {
    if (!promise_) {
        promise_.emplace();
        landing_ = promise_->get_future().share();
    }
    return landing_;
}

void SpecializationCache::Flight::land(const Entry& made) {
    if (promise_) promise_->set_value(made);
}

void SpecializationCache::Flight::fail(std::exception_ptr why) {
    if (promise_) promise_->set_exception(std::move(why));
}

// After a fork, whoever made them is not here. Nothing reads the keys, which lay with them.
void SpecializationCache::forget_flights_of_parent() {
    if (flights_since_ == forks()) return;
    flights_.clear();
    flights_since_ = forks();
}

// In any case, nobody finds the flight any more.
SpecializationCache::Entry SpecializationCache::make_and_store(Symbols symbols, const Make& make) {
    const auto start = std::chrono::steady_clock::now();
    Blank made;
    Entry latest;
    bool complete = false;
    const auto land = [&] {
        const auto spent = std::chrono::steady_clock::now() - start;
        const std::lock_guard lock(mutex_);
        metrics_.make_ns += static_cast<std::uint64_t>(std::chrono::nanoseconds(spent).count());
        flights_.erase(symbols);
        if (complete) {
            store(made);
        } else {
            spare_ = std::move(made);
        }
    };
    try {
        made = blank(latest);
        make(*made, latest.get());
        complete = true;
    } catch (...) {
        land();
        throw;
    }
    land();
    return made;
}

SpecializationCache::Blank SpecializationCache::blank(Entry& latest) {
    Blank made;
    {
        const std::lock_guard lock(mutex_);
        made = recycled();
        if (!recent_first_.empty()) latest = recent_first_.front();
    }
    return made != nullptr ? std::move(made) : std::make_shared<Specialization>();
}

// Memory to make one in: that of the oldest where it would go anyway, if no run uses it. Null if
// there is none.
SpecializationCache::Blank SpecializationCache::recycled() {
    if (spare_) return std::move(spare_);
    if (recent_first_.empty()) return nullptr;
    Entry& oldest = recent_first_.back();
    const bool full = entries_.size() >= limits_.entries ||
                      metrics_.bytes + oldest->held_bytes() > limits_.bytes;
    if (!full || oldest.use_count() != 1) return nullptr;
    // Only the list has it, and nobody gets it without the lock. To count up and down again is what
    // makes visible here whatever those did who had it before.
    Entry(oldest).reset();
    Blank freed = std::const_pointer_cast<Specialization>(oldest);
    drop_oldest();
    return freed;
}

// If memory runs out, nothing has changed.
void SpecializationCache::store(Entry entry) {
    std::list<Entry> newest{std::move(entry)};
    entries_.emplace(newest.front()->key(), newest.begin());
    metrics_.bytes += newest.front()->held_bytes();
    recent_first_.splice(recent_first_.begin(), newest);
    evict();
}

// The newest stays, even if it alone is beyond the limit.
void SpecializationCache::evict() {
    while (entries_.size() > 1 &&
           (entries_.size() > limits_.entries || metrics_.bytes > limits_.bytes)) {
        drop_oldest();
    }
}

void SpecializationCache::drop_oldest() {
    const Entry& oldest = recent_first_.back();
    metrics_.bytes -= oldest->held_bytes();
    ++metrics_.evictions;
    entries_.erase(oldest->key());
    recent_first_.pop_back();
}

CacheMetrics SpecializationCache::metrics() const {
    const std::lock_guard lock(mutex_);
    CacheMetrics metrics = metrics_;
    metrics.entries = entries_.size();
    return metrics;
}

std::vector<std::vector<std::int64_t>> SpecializationCache::bindings() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::vector<std::int64_t>> bindings;
    bindings.reserve(recent_first_.size());
    for (const Entry& entry : recent_first_) bindings.push_back(entry->symbols);
    return bindings;
}

void SpecializationCache::clear() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    recent_first_.clear();
    spare_.reset();
    metrics_.bytes = 0;
}

}  // namespace anyshape
