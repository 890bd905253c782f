// Arenas and the pool under random demand, under a sanitizer.
//
//   stress_memory ROUNDS
//
// Every block is marked at both ends: memory that two owners hold at the same time shows as a mark
// that is not one's own, and as a data race.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "core/arena.h"
#include "core/pool.h"

namespace {

using namespace anyshape;

std::size_t random_size(std::mt19937& rng, unsigned most_bits) {
    return rng() % (std::size_t{1} << (rng() % most_bits)) + 1;
}

// One after the other, so that each mark is still there only if the whole range is.
bool marks_stay(std::byte* data, std::size_t bytes, std::byte mark) {
    data[0] = data[bytes / 2] = data[bytes - 1] = mark;
    return data[0] == mark && data[bytes / 2] == mark && data[bytes - 1] == mark;
}

// Grows through several reservations, shrinks when a few windows ask for little.
bool arena_is_usable(std::mt19937& rng) {
    Arena arena;
    for (int phase = 0; phase < 6; ++phase) {
        const unsigned most_bits = rng() % 26 + 1;
        for (std::uint32_t run = 0; run < Arena::window; ++run) {
            const std::size_t bytes = random_size(rng, most_bits);
            std::byte* data = arena.ensure(bytes);
            if (arena.bytes() < bytes || !marks_stay(data, bytes, std::byte{7})) return false;
        }
        if (rng() % 4 == 0) arena.reserve(random_size(rng, 22));
        if (arena.bytes() < arena.floor()) return false;
        if (rng() % 6 == 0) arena.release();
    }
    return true;
}

bool blocks_are_apart(std::mt19937& rng, std::byte mark) {
    std::vector<std::pair<PoolBlock, std::size_t>> held;
    for (int call = 0; call < 200; ++call) {
        const std::size_t bytes = random_size(rng, 23);
        PoolBlock block = Pool::process().take(bytes);
        if (!marks_stay(block.data(), bytes, mark)) return false;
        held.emplace_back(std::move(block), bytes);
        if (held.size() > rng() % 8) held.erase(held.begin());
        for (const auto& [other, size] : held) {
            if (other.data()[0] != mark || other.data()[size - 1] != mark) return false;
        }
    }
    return true;
}

void change_settings(std::mt19937& rng) {
    Pool& pool = Pool::process();
    pool.set_limit(std::size_t{1} << (rng() % 28));
    pool.reserve(std::array<std::int64_t, 3>{100, 100, std::int64_t{1} << (rng() % 22)});
    if (rng() % 2 == 0) pool.trim();
}

bool hammer(unsigned seed) {
    std::atomic<bool> right = true;
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < 4; ++number) {
        threads.emplace_back([&, number] {
            std::mt19937 rng(seed * 4 + number);
            if (number == 0) change_settings(rng);
            if (!blocks_are_apart(rng, std::byte(number + 1))) right = false;
            if (number == 1 && !arena_is_usable(rng)) right = false;
        });
    }
    for (std::thread& thread : threads) thread.join();
    return right && Pool::process().metrics().used_bytes == 0;
}

}  // namespace

int main(int count, char** arguments) {
    const int rounds = count > 1 ? std::atoi(arguments[1]) : 50;
    for (int round = 0; round < rounds; ++round) {
        if (!hammer(static_cast<unsigned>(round))) {
            std::printf("round %d: memory with two owners\n", round);
            return 1;
        }
    }
    Pool::process().trim();
    if (Pool::process().metrics().idle_bytes != 0) return 1;
    std::printf("%d rounds\n", rounds);
    return 0;
}
