// Python's view of programs: descriptions, calls, steps, reports.
//
// Ownership: a BoundProgram holds the Python objects that own kernels and constants;
// specializations and steppers hold their program. Thread-safety: as runner.h. Calls give up the
// GIL unless they are known to be over in less time than getting it back may take.
#include "bind/bind_program.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <malloc.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bind/arguments.h"
#include "bind/calls.h"
#include "bind/gil.h"
#include "bind/outputs.h"
#include "bind/python_failures.h"
#include "bind/read_description.h"
#include "bind/results.h"
#include "core/available_memory.h"
#include "core/machine.h"
#include "core/memory_plan.h"
#include "core/plan_check.h"
#include "core/pool.h"
#include "core/runner.h"
#include "core/stop.h"
#include "core/task_trace.h"
#include "core/team.h"

namespace nb = nanobind;

namespace anyshape {
namespace {

// ---- the program -----------------------------------------------------------------------------

std::unique_ptr<BoundProgram> make_program(nb::handle description, nb::object keep,
                                           nb::handle options) {
    import_numpy();
    ReadDescription read = read_description(description);
    auto bound = std::make_unique<BoundProgram>();
    bound->runner = std::make_unique<Runner>(
        std::make_shared<const Program>(std::move(read.program)), read_run_options(options));
    bound->input_dtypes = std::move(read.input_dtypes);
    bound->output_dtypes = std::move(read.output_dtypes);
    bound->keep = std::move(keep);
    return bound;
}

// ---- calls -----------------------------------------------------------------------------------

void execute(Run& run, Arguments& arguments, const Stop::Limits* given) {
    const Specialization& specialization = *run.specialization();
    if (specialization.brief && !arguments.must_copy() && given == nullptr) return run.execute();
    WithoutGil released;
    arguments.copy();
    const bool interruptible = worth_interrupting(specialization) && on_main_thread();
    if (!interruptible && given == nullptr) return run.execute();
    Stop::Limits limits = given != nullptr ? *given : Stop::Limits{};
    if (interruptible) {
        limits.interrupted = signals_raise;
        limits.what = &released;
    }
    Stop stop(limits);
    run.execute(&stop);
}

nb::tuple call(const BoundProgram& program, nb::handle inputs, const Stop::Limits* limits,
               std::int64_t memory_limit, nb::handle out) {
    Run run(*program.runner);
    Arguments arguments(inputs, program.runner->program(), program.input_dtypes, run);
    prepare(run);
    Results results(run, arguments, program.output_dtypes, out, Donated::given_up);
    const std::int64_t copies = arguments.copied_bytes(), given = results.given_bytes();
    run.fit_memory_within(memory_limit, copies, given);
    const CallMemory counted;
    try {
        nb::tuple outputs = results.attach();
        execute(run, arguments, limits);
        return outputs;
    } catch (const std::bad_alloc&) {
        run.throw_lack_of_memory(copies, given);
    }
}

// Level 2 alone: the first number that it computes for inputs of these sizes.
std::int64_t first_word(const BoundProgram& program, nb::handle inputs) {
    Run run(*program.runner);
    const Arguments arguments(inputs, program.runner->program(), program.input_dtypes, run);
    prepare(run);
    const auto& words = run.specialization()->words;
    if (words.empty()) throw nb::value_error("the program computes no words");
    return words.front();
}

nb::tuple call_within(const BoundProgram& program, nb::handle inputs,
                      std::optional<std::int64_t> deadline, const Cancellation* cancellation,
                      nb::handle memory_limit, nb::handle out) {
    const Stop::Limits limits = limits_of(deadline, cancellation);
    const Stop::Limits* given = deadline || cancellation != nullptr ? &limits : nullptr;
    const std::int64_t bytes = read_memory_limit(memory_limit, program.runner->memory_limit());
    return call(program, inputs, given, bytes, out);
}

// What `call` gives, and a record of each range of tasks that it ran: run, step, its name, worker,
// first task, last task, begin, end.
nb::tuple traced(const nb::callable& call) {
    TaskTrace trace;
    nb::object result;
    {
        const TaskTrace::Scope scope(trace);
        result = call();
    }
    nb::list records;
    for (std::size_t worker = 0; worker < trace.records().size(); ++worker) {
        for (const TaskRecord& each : trace.records()[worker]) {
            const std::string& name = trace.program(each.run).steps()[each.step].name;
            records.append(nb::make_tuple(each.run, each.step, name, worker, each.first, each.last,
                                          each.begin, each.end));
        }
    }
    return nb::make_tuple(result, records);
}

// One step at a time. Holds its inputs and a context of its own until it dies.
class Stepper {
   public:
    Stepper(nb::object program, nb::object inputs, nb::handle memory_limit, nb::handle out,
            Donated donated)
        : owner_(std::move(program)),
          inputs_(std::move(inputs)),
          program_(*nb::inst_ptr<BoundProgram>(owner_)),
          run_(*program_.runner),
          arguments_(inputs_, program_.runner->program(), program_.input_dtypes, run_) {
        prepare(run_);
        Results results(run_, arguments_, program_.output_dtypes, out, donated);
        const std::int64_t copies = arguments_.copied_bytes(), given = results.given_bytes();
        const std::int64_t limit = program_.runner->memory_limit();
        run_.fit_memory_within(read_memory_limit(memory_limit, limit), copies, given);
        const CallMemory counted;
        try {
            outputs_ = results.attach();
            arguments_.copy();
            run_.begin();
        } catch (const std::bad_alloc&) {
            run_.throw_lack_of_memory(copies, given);
        }
    }

    std::size_t next() const { return next_; }
    // Of the program: which step is the next.
    std::size_t number() const {
        if (next_ == steps()) throw nb::index_error("all steps are done");
        return run_.specialization()->steps[next_].number;
    }
    std::size_t steps() const { return run_.specialization()->steps.size(); }
    nb::tuple outputs() const { return outputs_; }

    // Returns nanoseconds. Keeps the GIL: a stepper is for one thread at a time.
    std::int64_t step(std::optional<std::int64_t> deadline, const Cancellation* cancellation) {
        if (next_ == steps()) throw nb::index_error("all steps are done");
        Stop stop(limits_of(deadline, cancellation));
        const auto start = std::chrono::steady_clock::now();
        run_.execute_step(next_++, deadline || cancellation != nullptr ? &stop : nullptr);
        return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    }

    nb::object bytes(nb::handle self, std::size_t buffer) {
        const auto& sizes = run_.specialization()->buffer_bytes;
        if (buffer >= sizes.size()) throw nb::index_error("no such buffer");
        return byte_view(run_.address(buffer), sizes[buffer], self);
    }

   private:
    nb::object owner_;
    nb::object inputs_;
    const BoundProgram& program_;
    Run run_;
    Arguments arguments_;
    nb::tuple outputs_;
    std::size_t next_ = 0;
};

// ---- reports ---------------------------------------------------------------------------------

struct BoundSpecialization {
    std::shared_ptr<const Specialization> specialization;
    nb::object program;  // keeps kernels alive
};

std::vector<std::int64_t> read_symbols(const BoundProgram& program, nb::handle list) {
    std::vector<std::int64_t> symbols = read_numbers(list);
    if (symbols.size() != program.runner->program().description().symbols) {
        throw nb::value_error("another number of symbols than the program has");
    }
    return symbols;
}

BoundSpecialization specialize_for(nb::handle_t<BoundProgram> self, nb::list binding,
                                   nb::handle memory_limit) {
    const auto& program = *nb::inst_ptr<BoundProgram>(self);
    const std::vector<std::int64_t> symbols = read_symbols(program, binding);
    const std::int64_t limit = read_memory_limit(memory_limit, max_bytes);
    const auto specialization = [&] {
        const WithoutGil released;
        return program.runner->specialize_within(symbols, limit);
    }();
    return {specialization, nb::borrow(self)};
}

// Arena and outputs of a binding, which is not kept: for questions of the form "what if". Within
// the limit, if that can be.
std::int64_t planned_bytes(const BoundProgram& program, nb::list binding, nb::handle memory_limit) {
    const std::vector<std::int64_t> symbols = read_symbols(program, binding);
    const std::int64_t limit = read_memory_limit(memory_limit, max_bytes);
    const WithoutGil released;
    const MemoryReport memory = program.runner->plan(symbols, limit);
    return checked_add(memory.arena_bytes, memory.output_bytes).value_or(max_bytes);
}

// The same with time: picoseconds on all threads, bytes of arena and outputs.
nb::tuple estimate(const BoundProgram& program, nb::list binding) {
    const std::vector<std::int64_t> symbols = read_symbols(program, binding);
    const Specialization made = [&] {
        const WithoutGil released;
        return program.runner->unkept(symbols);
    }();
    return nb::make_tuple(made.elapsed(program.runner->threads()), made.memory.arena_bytes,
                          made.memory.output_bytes);
}

void reserve(const BoundProgram& program, nb::list binding, bool arena) {
    const std::vector<std::int64_t> symbols = read_symbols(program, binding);
    const WithoutGil released;
    program.runner->reserve(symbols, arena ? Runner::Reserve::all : Runner::Reserve::outputs);
}

// For each symbol the first of its sizes, the last, and what lies between two.
void take_static_memory(const BoundProgram& program, nb::list ranges) {
    std::vector<SymbolRange> read;
    for (const nb::handle range : ranges) {
        const std::vector<std::int64_t> numbers = read_numbers(range);
        if (numbers.size() != 3 || numbers[0] > numbers[1] || numbers[2] < 1) {
            throw nb::value_error("a range of sizes is a first, a last, and a step");
        }
        read.push_back({numbers[0], numbers[1], numbers[2]});
    }
    if (read.size() != program.runner->program().description().symbols) {
        throw nb::value_error("another number of symbols than the program has");
    }
    const WithoutGil released;
    program.runner->take_static_memory(read);
}

const char* base_name(const Specialization& specialization, std::uint32_t base) {
    if (base == absolute_base) return "constant";
    if (base == arena_base) return "arena";
    return base < first_output_base(*specialization.program) ? "input" : "output";
}

// What each run of a step is called with, in the order of its block: buffer, base, the number of
// that base, offset. From the very words that runs fill in.
nb::list addresses_of(const Specialization& specialization) {
    std::vector<const Patch*> patches(specialization.block_image.size(), nullptr);
    for (const Patch& patch : specialization.arena_patches) patches[patch.position] = &patch;
    for (const Patch& patch : specialization.call_patches) patches[patch.position] = &patch;
    nb::list list;
    for (const ReadyStep& step : specialization.steps) {
        nb::list own;
        std::span<const Source> sources;
        if (step.kernel != nullptr) sources = sources_of(*specialization.program, step);
        for (std::size_t at = 0; at < sources.size(); ++at) {
            const auto* address = std::get_if<Address>(&sources[at]);
            const Patch* patch = patches[step.block + at];
            if (address == nullptr || patch == nullptr) continue;
            own.append(nb::make_tuple(address->buffer, base_name(specialization, patch->base),
                                      patch->base, patch->offset));
        }
        list.append(own);
    }
    return list;
}

// None of the usual one. Else: parts, the number of their symbol, the size of the first, the runs
// of steps that they begin with, those that run again, what that costs; arena and cost of the usual
// one, words and bytes of buffers of a part.
nb::object economy_of(const Specialization& specialization) {
    const Economy* economy = specialization.economy.get();
    if (economy == nullptr) return nb::none();
    return nb::make_tuple(economy->parts, economy->symbol, economy->size, economy->begins,
                          economy->again, economy->again_cost, economy->usual->memory.arena_bytes,
                          economy->usual->cost, economy->part_words, economy->part_bytes);
}

nb::list placements_of(const Specialization& specialization) {
    nb::list list;
    for (std::size_t i = 0; i < specialization.placements.size(); ++i) {
        const Placement at = specialization.placements[i];
        const char* base = base_name(specialization, at.base);
        list.append(nb::make_tuple(base, at.offset, specialization.buffer_bytes[i]));
    }
    return list;
}

nb::dict metrics_of(const Runner& runner) {
    const CacheMetrics cache = runner.cache_metrics();
    const RunMetrics runs = runner.run_metrics();
    nb::dict metrics;
    metrics["hits"] = cache.hits;
    metrics["misses"] = cache.misses;
    metrics["evictions"] = cache.evictions;
    metrics["specialize_ns"] = cache.make_ns;
    metrics["entries"] = cache.entries;
    metrics["bytes"] = cache.bytes;
    metrics["runs"] = runs.runs;
    metrics["team_runs"] = runs.team_runs;
    metrics["idle_contexts"] = runs.idle_contexts;
    metrics["idle_arena_bytes"] = runs.idle_arena_bytes;
    return metrics;
}

// ---- for tests and benchmarks ----------------------------------------------------------------

using Words = std::vector<std::uint32_t>;
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

nb::tuple plan(const std::vector<std::int64_t>& bytes, const Pairs& conflicts,
               const std::vector<std::pair<std::uint32_t, std::uint32_t>>& lifetimes) {
    std::vector<Lifetime> lives;
    for (const auto& [first, last] : lifetimes) lives.push_back({first, last});
    const std::int64_t bound = most_live_bytes(bytes, lives);
    const MemoryPlan plan = plan_memory(bytes, Conflicts(std::move(lives), conflicts), bound);
    return nb::make_tuple(plan.offsets, plan.arena_bytes, bound);
}

std::optional<std::string> check_accesses(
    const std::vector<std::tuple<Words, Words, Pairs, Words>>& steps,
    const std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>>& ranges,
    std::uint32_t window) {
    std::vector<StepAccess> accesses;
    for (const auto& [reads, writes, in_place, waits] : steps) {
        accesses.push_back({reads, writes, in_place, waits});
    }
    std::vector<MemoryRange> memory;
    for (const auto& [base, offset, bytes] : ranges) memory.push_back({base, offset, bytes});
    return wrong_with_accesses(accesses, memory, window);
}

// Nanoseconds to call the team, meet every member and let them go.
double team_round_trip_ns(int rounds) {
    struct Meeting {
        const int expected;
        std::atomic<int> present = 0;
    };
    const WithoutGil released;
    Team& team = Team::process();
    team.prepare(read_machine().cpus);
    const auto meet = [](void* what, int) noexcept {
        Meeting& meeting = *static_cast<Meeting*>(what);
        meeting.present.fetch_add(1);
        while (meeting.present.load() < meeting.expected) cpu_relax();
    };
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) {
        Meeting meeting{team.members()};
        team.try_run({.work = meet, .what = &meeting}, team.members());
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    return spent.count() / rounds;
}

void bind_specialization(nb::module_& module) {
    nb::class_<BoundSpecialization>(module, "Specialization")
        .def_prop_ro("symbols",
                     [](const BoundSpecialization& s) { return s.specialization->symbols; })
        .def_prop_ro("words", [](const BoundSpecialization& s) { return s.specialization->words; })
        .def_prop_ro(
            "steps",
            [](const BoundSpecialization& s) {
                nb::list list;
                for (const ReadyStep& step : s.specialization->steps) {
                    const std::int64_t tasks = step.kernel != nullptr ? step.tasks : 0;
                    list.append(nb::make_tuple(step.number, tasks, step.ranges, step.variant,
                                               step.cost));
                }
                return list;
            })
        .def_prop_ro("cost", [](const BoundSpecialization& s) { return s.specialization->cost; })
        .def_prop_ro("placements",
                     [](const BoundSpecialization& s) { return placements_of(*s.specialization); })
        .def_prop_ro("memory",
                     [](const BoundSpecialization& s) {
                         const MemoryReport& memory = s.specialization->memory;
                         return nb::make_tuple(memory.arena_bytes, memory.lower_bound_bytes,
                                               memory.aliased_bytes, memory.in_place_bytes,
                                               memory.output_bytes);
                     })
        .def_prop_ro("addresses",
                     [](const BoundSpecialization& s) { return addresses_of(*s.specialization); })
        .def_prop_ro("economy",
                     [](const BoundSpecialization& s) { return economy_of(*s.specialization); })
        .def_prop_ro("window",
                     [](const BoundSpecialization& s) { return s.specialization->window; })
        .def_prop_ro("worth_a_team",
                     [](const BoundSpecialization& s) { return s.specialization->worth_a_team; })
        .def_prop_ro("held_bytes",
                     [](const BoundSpecialization& s) { return s.specialization->held_bytes(); });
}

}  // namespace

void bind_program(nb::module_& module) {
    translate_failures();
    bind_specialization(module);

    nb::class_<BoundProgram>(module, "Program")
        .def(nb::new_(&make_program), nb::arg("description").none(), nb::arg("keep"),
             nb::arg("options"))
        .def("run",
             [](const BoundProgram& program, nb::handle inputs) {
                 const std::int64_t limit = program.runner->memory_limit();
                 return call(program, inputs, nullptr, limit, nb::none());
             })
        .def("run_within", &call_within, nb::arg("inputs"), nb::arg("deadline").none(),
             nb::arg("cancellation").none(), nb::arg("memory_limit").none() = nb::none(),
             nb::arg("out").none() = nb::none())
        .def("first_word", &first_word)
        .def("specialize", &specialize_for, nb::arg("binding"),
             nb::arg("memory_limit").none() = nb::none())
        .def("planned_bytes", &planned_bytes, nb::arg("binding"),
             nb::arg("memory_limit").none() = nb::none())
        .def("estimate", &estimate)
        .def("reserve", &reserve, nb::arg("binding"), nb::arg("arena") = true)
        .def("take_static_memory", &take_static_memory)
        .def("trim", [](const BoundProgram& program) { program.runner->trim(); })
        .def("metrics", [](const BoundProgram& program) { return metrics_of(*program.runner); })
        .def("bindings", [](const BoundProgram& program) { return program.runner->bindings(); })
        .def_prop_ro("threads",
                     [](const BoundProgram& program) { return program.runner->threads(); });

    nb::class_<Cancellation>(module, "Cancellation")
        .def(nb::init<>())
        .def("cancel", &Cancellation::cancel)
        .def_prop_ro("cancelled", &Cancellation::cancelled);

    nb::class_<Stepper>(module, "Stepper")
        .def(nb::new_([](nb::handle_t<BoundProgram> program, nb::object inputs,
                         nb::handle memory_limit, nb::handle out, bool keep_donated) {
                 const Donated donated = keep_donated ? Donated::kept : Donated::given_up;
                 return std::make_unique<Stepper>(nb::borrow(program), std::move(inputs),
                                                  memory_limit, out, donated);
             }),
             nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none() = nb::none(),
             nb::arg() = false)
        .def_prop_ro("next", &Stepper::next)
        .def_prop_ro("number", &Stepper::number)
        .def_prop_ro("steps", &Stepper::steps)
        .def_prop_ro("outputs", &Stepper::outputs)
        .def("step", &Stepper::step, nb::arg("deadline").none() = nb::none(),
             nb::arg("cancellation").none() = nb::none())
        .def("bytes", [](nb::handle_t<Stepper> self, std::size_t buffer) {
            return nb::inst_ptr<Stepper>(self)->bytes(self, buffer);
        });

    module.def("traced", &traced, nb::arg("call"));
    module.def("output_pool", [] {
        const PoolMetrics metrics = Pool::process().metrics();
        return nb::make_tuple(metrics.used_bytes, metrics.idle_bytes, metrics.limit_bytes);
    });
    module.def("set_output_pool_limit",
               [](std::size_t bytes) { Pool::process().set_limit(bytes); });
    module.def("trim_process", [] {
        const WithoutGil released;
        Pool::process().trim();
        malloc_trim(0);
    });

    module.def("_plan", &plan);
    module.def("_wrong_with_plan",
               [](const std::vector<std::int64_t>& bytes, const Pairs& conflicts,
                  const std::vector<std::int64_t>& offsets, std::int64_t arena_bytes) {
                   return wrong_with_plan(bytes, conflicts, offsets, arena_bytes);
               });
    module.def("_wrong_with_accesses", &check_accesses);
    module.def("_team_round_trip_ns", &team_round_trip_ns);
}

}  // namespace anyshape
