// Several callers run random schedules on one team, under a sanitizer.
//
//   stress_runtime ROUNDS
//
// Some wait for the team and some go alone; some runs are cancelled or have a deadline. Forks are
// tested from Python: the sanitizers' own locks do not survive them.
//
// Kernels are C++ here: each adds its operands, one element per task, so that a step which ran too
// early, twice or not at all shows in the result, and memory that two steps touch without waiting
// for each other is a data race that the thread sanitizer sees.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "core/plan_check.h"
#include "core/pool.h"
#include "core/runner.h"
#include "core/team.h"

namespace {

using namespace anyshape;

// One symbol: the number of elements. Two words: elements and bytes.
std::int64_t bind(const std::int64_t* dims, std::int64_t* symbols) {
    symbols[0] = dims[0];
    return all_checks_hold;
}

std::int64_t shape(const std::int64_t* symbols, std::int64_t* words) {
    words[0] = symbols[0];
    words[1] = symbols[0] * static_cast<std::int64_t>(sizeof(std::int64_t));
    return all_checks_hold;
}

// block: x, y, result
void add(const std::int64_t* block, std::int64_t first, std::int64_t last, std::int64_t) {
    const auto* x = reinterpret_cast<const std::uint64_t*>(block[0]);
    const auto* y = reinterpret_cast<const std::uint64_t*>(block[1]);
    auto* result = reinterpret_cast<std::uint64_t*>(block[2]);
    for (std::int64_t i = first; i < last; ++i) result[i] = x[i] + 3 * y[i];
}

struct Graph {
    std::shared_ptr<const Program> program;
    std::vector<std::pair<std::size_t, std::size_t>> operands;  // of each step, by value

    std::uint64_t expected(std::uint64_t input) const {
        std::vector<std::uint64_t> values{input};
        for (const auto& [x, y] : operands) values.push_back(values[x] + 3 * values[y]);
        return values.back();
    }
};

// Value 0 is the input, value k + 1 the result of step k, in buffer k + 1.
Graph random_graph(std::mt19937& rng, std::uint32_t steps) {
    Graph graph;
    ProgramDescription description;
    description.bind = bind;
    description.shape = shape;
    description.symbols = 1;
    description.words = 2;
    description.window = std::uniform_int_distribution<std::uint32_t>(1, 8)(rng);
    description.inputs = {{.name = "a", .type = {0, 64}, .rank = 1, .order = {}}};
    description.kernels = {add};
    description.buffers.push_back({.store = InputStore{0}, .bytes = 1});
    std::vector<std::set<std::uint32_t>> before(steps);       // through waits or the window
    std::vector<std::vector<std::uint32_t>> uses(steps + 1);  // steps, by value
    for (std::uint32_t step = 0; step < steps; ++step) {
        const auto pick = [&] {
            const std::uint32_t lowest = step > 5 ? step - 5 : 0;
            return std::uniform_int_distribution<std::uint32_t>(lowest, step)(rng);
        };
        const std::uint32_t x = pick();
        const std::uint32_t y = pick();
        graph.operands.emplace_back(x, y);
        Step made;
        made.variants = {{.kernel = 0}};
        for (const std::uint32_t value : {x, y, step + 1}) {
            made.block.push_back(Address{value});
            uses[value].push_back(step);
        }
        for (const std::uint32_t value : std::set{x, y}) {
            if (value == 0) continue;
            made.waits.push_back(value - 1);
            before[step].insert(value - 1);
            before[step].insert(before[value - 1].begin(), before[value - 1].end());
        }
        for (std::uint32_t other = 0; other + description.window <= step; ++other) {
            before[step].insert(other);
        }
        description.steps.push_back(std::move(made));
        const bool is_last = step + 1 == steps;
        const Store result = is_last ? Store(OutputStore{0}) : Store(ArenaStore{});
        description.buffers.push_back({.store = result, .bytes = 1});
    }
    description.outputs = {
        {.type = {0, 64}, .dims = {0}, .buffer = steps, .order = {}, .start = {}}};
    const auto precedes = [&](std::uint32_t a, std::uint32_t b) {
        return std::ranges::all_of(uses[a], [&](auto use) { return before[b - 1].contains(use); });
    };
    for (std::uint32_t b = 1; b < steps; ++b) {
        auto& store = std::get<ArenaStore>(description.buffers[b].store);
        store.lifetime = {uses[b].front(), uses[b].back()};
        for (std::uint32_t a = 1; a < b; ++a) {
            if (!precedes(a, b) && !precedes(b, a)) store.conflicts.push_back(a);
        }
    }
    graph.program = std::make_shared<const Program>(std::move(description));
    return graph;
}

// A run that is ended is right as well.
bool run_once(Runner& runner, const Graph& graph, std::int64_t size, std::uint64_t value,
              Stop* stop) {
    const std::vector<std::uint64_t> input(static_cast<std::size_t>(size), value);
    Run run(runner);
    run.dims()[0] = size;
    if (!run.find()) run.prepare();
    const PoolBlock output = Pool::process().take(static_cast<std::size_t>(size) * 8);
    run.set_input(0, input.data());
    run.set_output(0, output.data());
    try {
        run.execute(stop);
    } catch (const Stopped&) {
        return stop != nullptr && stop->reason() != StopReason::none;
    }
    const auto* result = reinterpret_cast<const std::uint64_t*>(output.data());
    const std::uint64_t expected = graph.expected(value);
    return std::all_of(result, result + size, [&](auto found) { return found == expected; });
}

bool run_randomly(Runner& runner, const Graph& graph, std::mt19937& rng,
                  const Cancellation& cancellation) {
    const auto size = std::uniform_int_distribution<std::int64_t>(0, 40)(rng);
    const auto allowed = std::chrono::microseconds(rng() % 100);
    if (rng() % 16 == 0) runner.trim();
    if (rng() % 16 == 0) runner.reserve({&size, 1});
    switch (rng() % 4) {
        case 0: {
            Stop stop({.deadline = Stop::Clock::now() + allowed});
            return run_once(runner, graph, size, rng(), &stop);
        }
        case 1: {
            Stop stop({.cancellation = &cancellation});
            return run_once(runner, graph, size, rng(), &stop);
        }
        default: return run_once(runner, graph, size, rng(), nullptr);
    }
}

bool hammer(const Graph& graph, unsigned seed) {
    Runner runner(graph.program,
                  {.threads = 0, .wait_for_team = seed % 2 == 0, .cache_entries = 4});
    std::atomic<bool> right = true;
    Cancellation cancellation;
    std::vector<std::thread> callers;
    for (unsigned caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&, caller] {
            std::mt19937 rng(seed * 4 + caller);
            for (int call = 0; call < 30; ++call) {
                if (!run_randomly(runner, graph, rng, cancellation)) right = false;
                if (caller == 0 && call == 20) cancellation.cancel();
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    return right;
}

}  // namespace

int main(int count, char** arguments) {
    const int rounds = count > 1 ? std::atoi(arguments[1]) : 50;
    std::mt19937 rng(1);
    for (int round = 0; round < rounds; ++round) {
        const auto steps = std::uniform_int_distribution<std::uint32_t>(1, 40)(rng);
        if (!hammer(random_graph(rng, steps), static_cast<unsigned>(round))) {
            std::printf("round %d: a wrong result\n", round);
            return 1;
        }
        Team small(3, std::chrono::microseconds(round % 50));  // start, one run, end
        std::atomic<int> calls = 0;
        small.try_run(
            {.work = [](void* what,
                        int) noexcept { static_cast<std::atomic<int>*>(what)->fetch_add(1); },
             .what = &calls},
            3);
        if (calls < 1 || calls > 3) return 1;
    }
    std::printf("%d rounds\n", rounds);
    return 0;
}
