#include "core/sort_kernels.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "core/sort_keys.h"

namespace anyshape {
namespace {

// --- entries: a key and where it was, compared as one --------------------------------------------

struct WideEntry {
    std::uint64_t key;
    std::int64_t place;

    friend auto operator<=>(const WideEntry&, const WideEntry&) = default;
};

// Keys of up to 32 bits share a word with the place: rows of more than 2^32 elements do not fit.
struct NarrowEntry {
    std::uint64_t word;

    friend auto operator<=>(const NarrowEntry&, const NarrowEntry&) = default;
};

WideEntry make_entry(std::uint64_t key, std::int64_t place, WideEntry) { return {key, place}; }
NarrowEntry make_entry(std::uint64_t key, std::int64_t place, NarrowEntry) {
    return {key << 32 | static_cast<std::uint64_t>(place)};
}
std::int64_t place_of(WideEntry entry) { return entry.place; }
std::int64_t place_of(NarrowEntry entry) {
    return static_cast<std::int64_t>(entry.word & 0xffffffff);
}

template <typename Key>
Key key_of_entry(WideEntry entry) {
    return static_cast<Key>(entry.key);
}
template <typename Key>
Key key_of_entry(NarrowEntry entry) {
    return static_cast<Key>(entry.word >> 32);
}

struct Task {
    std::int64_t length, inner, kept;
    bool descending;
    std::int64_t step;  // from one result to the next
};

template <typename T, typename Entry>
void sort_row(const T* x, T* values, std::int64_t* places, Entry* entries, const Task& task) {
    using Key = decltype(key_of(T{}));
    const Key flip = task.descending ? static_cast<Key>(~Key{0}) : Key{0};
    // Few of many: what comes after the last of those that were seen is left out at once.
    const bool few = task.kept > 0 && task.kept <= task.length / 8;
    const std::int64_t room = few ? 4 * task.kept : task.length;
    std::int64_t count = 0;
    Key limit = static_cast<Key>(~Key{0});
    bool limited = false;
    for (std::int64_t i = 0; i < task.length; ++i) {
        const auto key = static_cast<Key>(key_of(x[i * task.inner]) ^ flip);
        if (limited && key >= limit) continue;  // an equal one that comes later is behind, too
        entries[count++] = make_entry(key, i, Entry{});
        if (few && count == room) {
            std::nth_element(entries, entries + task.kept - 1, entries + count);
            limit = key_of_entry<Key>(entries[task.kept - 1]);
            limited = true;
            count = task.kept;
        }
    }
    if (task.kept < count) std::nth_element(entries, entries + task.kept, entries + count);
    std::sort(entries, entries + task.kept);
    for (std::int64_t i = 0; i < task.kept; ++i) {
        const std::int64_t place = place_of(entries[i]);
        values[i * task.step] = x[place * task.inner];
        places[i * task.step] = place;
    }
}

// `workspace` has room for a row of the widest entries.
template <typename T>
void sort_one(const T* x, T* values, std::int64_t* places, std::byte* workspace, const Task& task) {
    constexpr bool narrow = sizeof(decltype(key_of(T{}))) <= 4;
    if (narrow && task.length <= std::int64_t{1} << 32) {
        sort_row(x, values, places, reinterpret_cast<NarrowEntry*>(workspace), task);
    } else {
        sort_row(x, values, places, reinterpret_cast<WideEntry*>(workspace), task);
    }
}

std::byte* workspace_of(std::int64_t address, std::int64_t worker, std::int64_t length) {
    constexpr std::int64_t line = 64;
    const std::int64_t part = (length * sort_workspace_bytes + line - 1) / line * line;
    return reinterpret_cast<std::byte*>(address) + worker * part;
}

template <typename T>
void sort_kernel(const std::int64_t* block, std::int64_t first, std::int64_t last,
                 std::int64_t worker) {
    const auto* x = reinterpret_cast<const T*>(block[0]);
    auto* values = reinterpret_cast<T*>(block[1]);
    auto* places = reinterpret_cast<std::int64_t*>(block[2]);
    const Task task{block[5], block[6], block[7], block[8] != 0, block[6]};
    std::byte* workspace = workspace_of(block[3], worker, task.length);
    for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t outside = row / task.inner, inside = row % task.inner;
        const T* from = x + outside * task.length * task.inner + inside;
        const std::int64_t to = outside * task.kept * task.inner + inside;
        sort_one(from, values + to, places + to, workspace, task);
    }
}

// --- in parts ------------------------------------------------------------------------------------

// Entries of workspace for each part: where it stands, and up to four heads of a tournament.
constexpr std::int64_t merge_entries = 5;

// The sizes of a sort in parts, in the order of a block.
struct PartSizes {
    std::int64_t outer, length, inner, kept, descending, parts, part_length;

    std::int64_t rows() const { return outer * inner; }
    std::int64_t width() const { return std::min(kept, part_length); }
    std::int64_t length_of(std::int64_t part) const {
        return std::clamp<std::int64_t>(length - part * part_length, 0, part_length);
    }
    std::int64_t width_of(std::int64_t part) const { return std::min(kept, length_of(part)); }

    // Of a worker that merges, in entries: a row that is sorted as a whole, or MergeSpace.
    std::int64_t workspace() const { return parts == 0 ? length : parts * merge_entries; }
};

PartSizes read_sizes(const std::int64_t* words) {
    return {words[0], words[1], words[2], words[3], words[4], words[5], words[6]};
}

template <typename T>
void sort_parts_kernel(const std::int64_t* block, std::int64_t first, std::int64_t last,
                       std::int64_t worker) {
    const auto* x = reinterpret_cast<const T*>(block[0]);
    auto* values = reinterpret_cast<T*>(block[1]);
    auto* places = reinterpret_cast<std::int64_t*>(block[2]);
    const PartSizes sizes = read_sizes(block + 4);
    std::byte* workspace = workspace_of(block[3], worker, sizes.part_length);
    for (std::int64_t task = first; task < last; ++task) {
        const std::int64_t part = task / sizes.rows(), row = task % sizes.rows();
        const std::int64_t outside = row / sizes.inner, inside = row % sizes.inner;
        const std::int64_t start = part * sizes.part_length, to = task * sizes.width();
        const std::int64_t from = (outside * sizes.length + start) * sizes.inner + inside;
        const std::int64_t width = sizes.width_of(part);
        const Task own{sizes.length_of(part), sizes.inner, width, sizes.descending != 0, 1};
        sort_one(x + from, values + to, places + to, workspace, own);
        for (std::int64_t i = 0; i < width; ++i) places[to + i] += start;
    }
}

// One row of parts, each in order: a key of an element decides first, then its part.
template <typename T>
class Parts {
   public:
    using Key = decltype(key_of(T{}));

    Parts(const T* values, const PartSizes& sizes, std::int64_t row)
        : values_(values + row * sizes.width()),
          sizes_(sizes),
          flip_(sizes.descending != 0 ? static_cast<Key>(~Key{0}) : Key{0}) {}

    std::int64_t begin_of(std::int64_t part) const { return part * sizes_.rows() * sizes_.width(); }
    Key key(std::int64_t part, std::int64_t place) const {
        return static_cast<Key>(key_of(values_[begin_of(part) + place]) ^ flip_);
    }

    // How many elements of a part come before the first with this key, or behind the last.
    template <bool behind>
    std::int64_t before(std::int64_t part, Key wanted) const {
        std::int64_t low = 0, high = sizes_.width_of(part);
        while (low < high) {
            const std::int64_t middle = low + (high - low) / 2;
            const Key found = key(part, middle);
            const bool is_before = behind ? found <= wanted : found < wanted;
            (is_before ? low : high) = is_before ? middle + 1 : middle;
        }
        return low;
    }

    std::int64_t smaller_than(Key wanted) const {
        std::int64_t count = 0;
        for (std::int64_t part = 0; part < sizes_.parts; ++part)
            count += before<false>(part, wanted);
        return count;
    }

    // How many elements of each part are among the first `rank` of all. Of equal keys, those of
    // earlier parts come first.
    void cut(std::int64_t rank, std::span<std::int64_t> places) const {
        Key wanted = 0;  // the greatest key that no more than `rank` elements are smaller than
        for (int bit = sizeof(Key) * 8; bit-- > 0;) {
            const auto larger = static_cast<Key>(wanted | Key{1} << bit);
            if (smaller_than(larger) <= rank) wanted = larger;
        }
        std::int64_t left = rank - smaller_than(wanted);
        for (std::int64_t part = 0; part < sizes_.parts; ++part) {
            const std::int64_t start = before<false>(part, wanted);
            const std::int64_t equal = std::min(left, before<true>(part, wanted) - start);
            places[static_cast<std::size_t>(part)] = start + equal;
            left -= equal;
        }
    }

   private:
    const T* values_;
    const PartSizes& sizes_;
    Key flip_;
};

// A tournament: the winner is the part whose next element comes first.
template <typename Key>
class Tournament {
   public:
    struct Head {
        Key key;
        std::uint32_t part;  // `over` behind the last element

        bool operator<(const Head& other) const {
            return key != other.key ? key < other.key : part < other.part;
        }
    };
    static constexpr std::uint32_t over = ~std::uint32_t{0};
    static constexpr Head last{static_cast<Key>(~Key{0}), over};

    // `heads` are twice as many as leaves, whose number is a power of two: the first of each part
    // in the upper half. Losers are kept in the lower half.
    explicit Tournament(std::span<Head> heads) : leaves_(heads.size() / 2), losers_(heads) {
        for (std::size_t node = leaves_; node-- > 1;) {
            losers_[node] = std::min(losers_[2 * node], losers_[2 * node + 1]);
        }
        winner_ = losers_[1];
        // Top down: a node gives its winner up for the other of its two, which lost here.
        for (std::size_t node = 1; node < leaves_; ++node) {
            losers_[node] = std::max(losers_[2 * node], losers_[2 * node + 1]);
        }
    }

    const Head& winner() const { return winner_; }

    // The next element of the part that has won.
    void replace(Head head, std::uint32_t part) {
        for (std::size_t node = (leaves_ + part) / 2; node > 0; node /= 2) {
            if (losers_[node] < head) std::swap(losers_[node], head);
        }
        winner_ = head;
    }

   private:
    std::size_t leaves_;
    std::span<Head> losers_;
    Head winner_;
};

// The sorted row from one rank to another.
template <typename T>
void merge(const T* values, const std::int64_t* places, const PartSizes& sizes, std::int64_t row,
           std::int64_t from, std::int64_t until, T* to_values, std::int64_t* to_places,
           std::byte* workspace) {
    using Key = typename Parts<T>::Key;
    using Race = Tournament<Key>;
    const Parts<T> parts(values, sizes, row);
    const auto count = static_cast<std::size_t>(sizes.parts);
    const std::span next(reinterpret_cast<std::int64_t*>(workspace), count);
    auto* behind = reinterpret_cast<typename Race::Head*>(next.data() + count);
    const std::span heads(behind, 2 * std::bit_ceil(count));
    parts.cut(from, next);
    const auto head = [&](std::int64_t part) -> typename Race::Head {
        const std::int64_t place = next[static_cast<std::size_t>(part)];
        if (place >= sizes.width_of(part)) return Race::last;
        return {parts.key(part, place), static_cast<std::uint32_t>(part)};
    };
    std::ranges::fill(heads, Race::last);
    for (std::size_t part = 0; part < count; ++part) {
        heads[heads.size() / 2 + part] = head(static_cast<std::int64_t>(part));
    }
    Race race(heads);
    for (std::int64_t rank = from; rank < until; ++rank) {
        const std::uint32_t part = race.winner().part;
        const std::int64_t source = parts.begin_of(part) + row * sizes.width() + next[part]++;
        to_values[rank * sizes.inner] = values[source];
        to_places[rank * sizes.inner] = places[source];
        race.replace(head(part), part);
    }
}

// Without parts a task is a row, as of sort_kernel; else a range of ranks of a row.
template <typename T>
void merge_parts_kernel(const std::int64_t* block, std::int64_t first, std::int64_t last,
                        std::int64_t worker) {
    const auto* x = reinterpret_cast<const T*>(block[0]);
    const auto* part_values = reinterpret_cast<const T*>(block[1]);
    const auto* part_places = reinterpret_cast<const std::int64_t*>(block[2]);
    auto* values = reinterpret_cast<T*>(block[3]);
    auto* places = reinterpret_cast<std::int64_t*>(block[4]);
    const PartSizes sizes = read_sizes(block + 6);
    const std::int64_t ranges = block[13];
    const Task whole{sizes.length, sizes.inner, sizes.kept, sizes.descending != 0, sizes.inner};
    std::byte* workspace = workspace_of(block[5], worker, sizes.workspace());
    for (std::int64_t task = first; task < last; ++task) {
        const std::int64_t row = task / ranges, range = task % ranges;
        const std::int64_t outside = row / sizes.inner, inside = row % sizes.inner;
        const std::int64_t to = outside * sizes.kept * sizes.inner + inside;
        if (sizes.parts == 0) {
            const T* from = x + outside * sizes.length * sizes.inner + inside;
            sort_one(from, values + to, places + to, workspace, whole);
            continue;
        }
        const auto rank = [&](std::int64_t of) {
            return sizes.kept / ranges * of + sizes.kept % ranges * of / ranges;
        };
        merge(part_values, part_places, sizes, row, rank(range), rank(range + 1), values + to,
              places + to, workspace);
    }
}

constexpr NamedKernel kernels[] = {
    {"sort_f32", sort_kernel<float>},
    {"sort_f64", sort_kernel<double>},
    {"sort_f16", sort_kernel<Half<5>>},
    {"sort_bf16", sort_kernel<Half<8>>},
    {"sort_i8", sort_kernel<std::int8_t>},
    {"sort_i16", sort_kernel<std::int16_t>},
    {"sort_i32", sort_kernel<std::int32_t>},
    {"sort_i64", sort_kernel<std::int64_t>},
    {"sort_u8", sort_kernel<std::uint8_t>},
    {"sort_u16", sort_kernel<std::uint16_t>},
    {"sort_u32", sort_kernel<std::uint32_t>},
    {"sort_u64", sort_kernel<std::uint64_t>},
    {"sort_bool", sort_kernel<std::uint8_t>},
    {"sort_parts_f32", sort_parts_kernel<float>},
    {"sort_parts_f64", sort_parts_kernel<double>},
    {"sort_parts_f16", sort_parts_kernel<Half<5>>},
    {"sort_parts_bf16", sort_parts_kernel<Half<8>>},
    {"sort_parts_i8", sort_parts_kernel<std::int8_t>},
    {"sort_parts_i16", sort_parts_kernel<std::int16_t>},
    {"sort_parts_i32", sort_parts_kernel<std::int32_t>},
    {"sort_parts_i64", sort_parts_kernel<std::int64_t>},
    {"sort_parts_u8", sort_parts_kernel<std::uint8_t>},
    {"sort_parts_u16", sort_parts_kernel<std::uint16_t>},
    {"sort_parts_u32", sort_parts_kernel<std::uint32_t>},
    {"sort_parts_u64", sort_parts_kernel<std::uint64_t>},
    {"sort_parts_bool", sort_parts_kernel<std::uint8_t>},
    {"merge_parts_f32", merge_parts_kernel<float>},
    {"merge_parts_f64", merge_parts_kernel<double>},
    {"merge_parts_f16", merge_parts_kernel<Half<5>>},
    {"merge_parts_bf16", merge_parts_kernel<Half<8>>},
    {"merge_parts_i8", merge_parts_kernel<std::int8_t>},
    {"merge_parts_i16", merge_parts_kernel<std::int16_t>},
    {"merge_parts_i32", merge_parts_kernel<std::int32_t>},
    {"merge_parts_i64", merge_parts_kernel<std::int64_t>},
    {"merge_parts_u8", merge_parts_kernel<std::uint8_t>},
    {"merge_parts_u16", merge_parts_kernel<std::uint16_t>},
    {"merge_parts_u32", merge_parts_kernel<std::uint32_t>},
    {"merge_parts_u64", merge_parts_kernel<std::uint64_t>},
    {"merge_parts_bool", merge_parts_kernel<std::uint8_t>},
};

}  // namespace

std::span<const NamedKernel> sort_kernels() noexcept { return kernels; }

}  // namespace anyshape
