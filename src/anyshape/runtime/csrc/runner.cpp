#include "runner.h"

#include <algorithm>
#include <utility>

#include "failures.h"
#include "machine.h"
#include "team.h"

namespace anyshape {
namespace {

// Contexts beyond this many are for a burst of callers and are not kept.
constexpr std::size_t max_idle_contexts = 16;

std::int64_t as_word(const void* address) { return reinterpret_cast<std::int64_t>(address); }

// The team itself starts when a run first needs it.
int allowed_threads(int wanted) {
    if (wanted == 1) return 1;
    const int cpus = read_machine().cpus;
    return wanted > 0 ? std::min(wanted, cpus) : cpus;
}

void apply(std::span<const Patch> patches, std::span<const std::int64_t> bases,
           std::span<std::int64_t> blocks) {
    for (const Patch& patch : patches) blocks[patch.position] = bases[patch.base] + patch.offset;
}

}  // namespace

Context::Context(const Program& program)
    : dims(program.dim_count()),
      symbols(program.description().symbols),
      bases(first_input_base + program.inputs().size() + program.outputs().size()),
      blocks(program.block_words()),
      progress(program.steps().size()) {}

// ---- Runner ----------------------------------------------------------------------------------

Runner::Runner(std::shared_ptr<const Program> program, RunnerOptions options)
    : program_(std::move(program)),
      threads_(allowed_threads(options.threads)),
      team_cost_(options.team_cost),
      split_cost_(options.split_cost),
      cache_(options.cache) {
    idle_.reserve(max_idle_contexts);
}

std::shared_ptr<const Specialization> Runner::specialize(std::span<const std::int64_t> symbols) {
    return cache_.find_or_make(symbols, [&] {
        return anyshape::specialize(
            program_, symbols,
            {.workers = threads_, .team_cost = team_cost_, .split_cost = split_cost_});
    });
}

std::unique_ptr<Context> Runner::borrow() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            std::unique_ptr<Context> context = std::move(idle_.back());
            idle_.pop_back();
            return context;
        }
    }
    return std::make_unique<Context>(*program_);
}

void Runner::give_back(std::unique_ptr<Context> context) noexcept {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < max_idle_contexts) idle_.push_back(std::move(context));
}

RunMetrics Runner::run_metrics() const {
    const std::lock_guard lock(mutex_);
    RunMetrics metrics{.runs = runs_.load(std::memory_order_relaxed),
                       .team_runs = team_runs_.load(std::memory_order_relaxed),
                       .idle_contexts = idle_.size()};
    for (const auto& context : idle_) metrics.idle_arena_bytes += context->arena.bytes();
    return metrics;
}

void Runner::trim() {
    cache_.clear();
    const std::lock_guard lock(mutex_);
    idle_.clear();
}

// ---- Run -------------------------------------------------------------------------------------

bool Run::find() {
    const std::int64_t check =
        runner_.program_->description().bind(context_->dims.data(), context_->symbols.data());
    if (check != all_checks_hold) throw CheckFailed(Stage::bind, check, context_->dims);
    specialization_ = runner_.find(context_->symbols);
    return specialization_ != nullptr;
}

void Run::prepare() { specialization_ = runner_.specialize(context_->symbols); }

void Run::set_input(std::size_t input, const void* data) noexcept {
    context_->bases[first_input_base + input] = as_word(data);
}

void Run::set_output(std::size_t output, void* data) noexcept {
    context_->bases[first_input_base + runner_.program_->inputs().size() + output] = as_word(data);
}

void Run::begin() {
    Context& context = *context_;
    const auto arena_bytes = static_cast<std::size_t>(specialization_->memory.arena_bytes);
    const std::byte* arena = context.arena.ensure(arena_bytes);
    context.bases[arena_base] = as_word(arena);
    if (context.last != specialization_) {
        context.last = specialization_;
        context.last_arena = nullptr;
        std::ranges::copy(specialization_->block_image, context.blocks.begin());
    }
    if (context.last_arena != arena) {
        context.last_arena = arena;
        apply(specialization_->arena_patches, context.bases, context.blocks);
    }
    apply(specialization_->call_patches, context.bases, context.blocks);
}

void Run::execute() {
    begin();
    runner_.runs_.fetch_add(1, std::memory_order_relaxed);
    use_team_or_go_alone(specialization_->steps);
}

void Run::use_team_or_go_alone(std::span<const ReadyStep> steps) {
    Walk walk(steps, context_->blocks.data(), context_->progress,
              runner_.program_->description().window);
    if (runner_.threads_ > 1 && specialization_->worth_a_team) {
        walk.reset();
        const Team::Job job{.work = [](void* what, int member) noexcept {
                                static_cast<Walk*>(what)->together(member);
                            },
                            .what = &walk};
        if (Team::process().try_run(job, runner_.threads_)) {
            runner_.team_runs_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
    }
    walk.alone();
}

// A step alone has nothing to wait for: those before it are done.
void Run::execute_step(std::size_t number) {
    ReadyStep step = specialization_->steps[number];
    step.waits = {};
    use_team_or_go_alone({&step, 1});
}

std::byte* Run::address(std::size_t buffer) const noexcept {
    const Place place = specialization_->places[buffer];
    return reinterpret_cast<std::byte*>(context_->bases[place.base] + place.offset);
}

}  // namespace anyshape
