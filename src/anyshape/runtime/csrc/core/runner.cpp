#include "core/runner.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/available_memory.h"
#include "core/failures.h"
#include "core/machine.h"
#include "core/pages.h"
#include "core/pool.h"
#include "core/team.h"

namespace anyshape {
namespace {

// Contexts beyond this many are for a burst of callers and are not kept.
constexpr std::size_t max_idle_contexts = 16;

// Runs after which contexts that no caller needed any more are given up.
constexpr std::uint32_t runs_per_window = 256;

std::int64_t as_word(const void* address) { return reinterpret_cast<std::int64_t>(address); }

// The team itself starts when a run first needs it.
RunOptions with_allowed_threads(RunOptions options) {
    if (options.threads == 1) return options;
    const int cpus = read_machine().cpus;
    options.threads = options.threads > 0 ? std::min(options.threads, cpus) : cpus;
    return options;
}

void apply(std::span<const Patch> patches, std::span<const std::int64_t> bases,
           std::span<std::int64_t> blocks) {
    for (const Patch& patch : patches) blocks[patch.position] = bases[patch.base] + patch.offset;
}

}  // namespace

Context::Context(const Program& program)
    : dims(program.dim_count()),
      symbols(program.description().symbols),
      bases(first_output_base(program) + program.outputs().size()),
      blocks(program.most_block_words()),
      progress(program.steps().size()) {}

// ---- Runner ----------------------------------------------------------------------------------

Runner::Runner(std::shared_ptr<const Program> program, const RunOptions& options)
    : program_(std::move(program)),
      options_(with_allowed_threads(options)),
      cache_({options.cache_entries, options.cache_bytes}),
      economical_({options.cache_entries, options.cache_bytes}) {
    idle_.reserve(max_idle_contexts);
}

std::shared_ptr<const Specialization> Runner::specialize(std::span<const std::int64_t> symbols) {
    return cache_.find_or_make(symbols, [&](Specialization& into, const Specialization* latest) {
        specialize_into(into, program_, symbols, options_, static_.get(), latest);
    });
}

Specialization Runner::make(std::span<const std::int64_t> symbols) const {
    return anyshape::specialize(program_, symbols, options_, static_.get());
}

const Economist& Runner::economist() {
    const std::lock_guard lock(mutex_);
    if (economist_ == nullptr) economist_ = std::make_unique<const Economist>(program_);
    return *economist_;
}

std::shared_ptr<const Specialization> Runner::economical(
    const std::shared_ptr<const Specialization>& usual, std::int64_t room) {
    std::vector<std::int64_t> key = usual->symbols;
    key.push_back(room);
    return economical_.find_or_make(key, [&](Specialization& into, const Specialization*) {
        economist().within(into, usual, room, options_);
    });
}

std::shared_ptr<const Specialization> Runner::specialize_within(
    std::span<const std::int64_t> symbols, std::int64_t limit) {
    auto usual = specialize(symbols);
    const std::int64_t room = limit - usual->memory.output_bytes;
    if (usual->memory.arena_bytes <= room || room < 0) return usual;
    auto found = economical(usual, room);
    return found->memory.arena_bytes <= room ? found : usual;
}

MemoryReport Runner::plan(std::span<const std::int64_t> symbols, std::int64_t limit) {
    Specialization made = make(symbols);
    const std::int64_t room = limit - made.memory.output_bytes;
    if (made.memory.arena_bytes <= room) return made.memory;
    auto usual = std::make_shared<const Specialization>(std::move(made));
    Specialization within;
    economist().within(within, std::move(usual), std::max<std::int64_t>(room, 0), options_);
    return within.memory;
}

std::unique_ptr<Context> Runner::borrow() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            std::unique_ptr<Context> context = std::move(idle_.back());
            idle_.pop_back();
            least_idle_ = std::min(least_idle_, idle_.size());
            return context;
        }
    }
    return std::make_unique<Context>(*program_);
}

void Runner::give_back(std::unique_ptr<Context> context) noexcept {
    bool window_over = false;
    {
        const std::lock_guard lock(mutex_);
        if (idle_.size() < max_idle_contexts) idle_.push_back(std::move(context));
        window_over = ++given_back_ >= runs_per_window;
    }
    if (window_over) drop_unused_contexts();
}

// After a burst of callers: those at the front have lain there all through the window.
void Runner::drop_unused_contexts() noexcept {
    std::array<std::unique_ptr<Context>, max_idle_contexts> dropped;  // after the lock is
    const std::lock_guard lock(mutex_);
    if (given_back_ < runs_per_window) return;  // another thread was here first
    given_back_ = 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < idle_.size(); ++i) {
        const bool unused = i < least_idle_ && idle_[i]->arena.floor() == 0;
        (unused ? dropped[i] : idle_[kept++]).swap(idle_[i]);
    }
    idle_.resize(kept);
    least_idle_ = kept;
}

void Runner::reserve(std::span<const std::int64_t> symbols, Reserve what) {
    Run run(*this);  // borrows a context, and gives it back whatever happens
    run.specialization_ = specialize(symbols);
    if (what == Reserve::all) {
        run.fit_memory_within(options_.memory_limit, 0);
    } else {
        run.require_memory_within(options_.memory_limit, 0);
    }
    std::vector<std::int64_t> outputs;
    for (const Output& output : program_->outputs()) {
        outputs.push_back(run.specialization_->buffer_bytes[output.buffer]);
    }
    const std::int64_t arena_bytes = run.specialization_->memory.arena_bytes;
    const CallMemory counted;
    try {
        if (what == Reserve::all) run.arena_->reserve(static_cast<std::size_t>(arena_bytes));
        Pool::process().reserve(outputs);
    } catch (const std::bad_alloc&) {
        run.throw_lack_of_memory(0);
    }
}

// ---- static memory -----------------------------------------------------------------------------

void Runner::take_static_memory(std::span<const SymbolRange> ranges) {
    static_ = std::make_unique<const StaticMemory>(static_memory(*program_, ranges, options_));
    cache_.clear();
    const std::int64_t arena = static_->plan.arena_bytes, outputs = static_->output_bytes();
    const Bindings greatest(ranges);
    const auto symbols = greatest.symbols();
    if (arena > memory_limit() || outputs > memory_limit() - arena) {
        throw MemoryLimitExceeded({arena, outputs, 0}, memory_limit(),
                                  {symbols.begin(), symbols.end()});
    }
    if (auto any = fill_cache(ranges)) hold_static_memory(std::move(any));
    if (threads() > 1) {  // starts the team
        const auto nothing = [](void*, int) noexcept {};
        Team::process().try_run({.work = nothing, .what = nullptr}, threads());
    }
}

// Whoever takes the next result may still have the last one: `y = run(x)` in a loop.
void Runner::hold_static_memory(std::shared_ptr<const Specialization> any) {
    std::vector<std::int64_t> sizes;
    for (const OutputBytes& output : static_->outputs) {
        for (int call = 0; call < 2; ++call) {
            Pool::Hold::append_sizes(output.least, output.most, sizes);
        }
    }
    Run run(*this);
    run.specialization_ = std::move(any);
    const CallMemory counted;
    try {
        outputs_held_ = std::make_unique<const Pool::Hold>(sizes);
        run.arena_->reserve(static_cast<std::size_t>(static_->plan.arena_bytes));
    } catch (const std::bad_alloc&) {
        run.throw_lack_of_memory(0);
    }
}

// The first that was made; null if no binding is legal. Those that the cache has no room for are
// made in the memory of others.
std::shared_ptr<const Specialization> Runner::fill_cache(std::span<const SymbolRange> ranges) {
    std::shared_ptr<const Specialization> first;
    Bindings bindings(ranges);
    do {
        try {
            auto made = specialize(bindings.symbols());
            if (first == nullptr) {
                read_constants(made->buffer_bytes);
                first = std::move(made);
            }
        } catch (const CheckFailed&) {  // no call has these sizes
        }
    } while (cache_.metrics().evictions == 0 && bindings.next());
    return first;
}

// Pages of a mapped file are there when somebody has read them.
void Runner::read_constants(std::span<const std::int64_t> buffer_bytes) const {
    const auto& buffers = program_->buffers();
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const auto* constant = std::get_if<ConstantStore>(&buffers[i].store);
        if (constant == nullptr) continue;
        const std::uintptr_t address = program_->description().constants[constant->index];
        read_pages(reinterpret_cast<const std::byte*>(address),
                   static_cast<std::size_t>(buffer_bytes[i]));
    }
}

// Hits and misses are those of bindings; what economical ones take is counted with the rest.
CacheMetrics Runner::cache_metrics() const {
    CacheMetrics metrics = cache_.metrics();
    const CacheMetrics economical = economical_.metrics();
    metrics.make_ns += economical.make_ns;
    metrics.bytes += economical.bytes;
    return metrics;
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
    if (static_ == nullptr) cache_.clear();
    economical_.clear();
    const std::lock_guard lock(mutex_);
    std::erase_if(idle_, [&](const auto& context) {
        return static_ == nullptr || context->arena.floor() == 0;
    });
    least_idle_ = 0;
}

// ---- Run -------------------------------------------------------------------------------------

void Run::solve() {
    const std::int64_t check =
        runner_.program_->description().bind(context_->dims.data(), context_->symbols.data());
    if (check != all_checks_hold) throw CheckFailed(Stage::bind, check, context_->dims);
}

bool Run::find() {
    solve();
    specialization_ = runner_.find(context_->symbols);
    return specialization_ != nullptr;
}

void Run::find_again() {
    solve();
    const auto& last = context_->last;
    if (last != nullptr && last->economy == nullptr && last->symbols == context_->symbols) {
        if (specialization_ != last) specialization_ = last;
        return;
    }
    specialization_ = runner_.find(context_->symbols);
    if (specialization_ == nullptr) prepare();
}

void Run::prepare() { specialization_ = runner_.specialize(context_->symbols); }

// Sums of three sizes that are each at most 2^62 do not fit; differences do.
void Run::require_memory_within(std::int64_t limit, std::int64_t copies, std::int64_t given) const {
    const std::int64_t arena = specialization_->memory.arena_bytes;
    const std::int64_t outputs = specialization_->memory.output_bytes - given;
    if (arena <= limit && outputs <= limit - arena && copies <= limit - arena - outputs) return;
    throw MemoryLimitExceeded({arena, outputs, copies}, limit, specialization_->symbols);
}

void Run::fit_memory_within(std::int64_t limit, std::int64_t copies, std::int64_t given) {
    const std::int64_t arena = specialization_->memory.arena_bytes;
    const std::int64_t others = specialization_->memory.output_bytes - given;
    if (arena <= limit && others <= limit - arena && copies <= limit - arena - others) return;
    const std::int64_t left = others <= limit ? limit - others - copies : 0;
    const std::int64_t room = std::max<std::int64_t>(left, 0);
    specialization_ = runner_.economical(specialization_, room);
    require_memory_within(limit, copies, given);
}

void Run::throw_lack_of_memory(std::int64_t copies, std::int64_t given) const {
    const std::int64_t arena = specialization_->memory.arena_bytes;
    const std::int64_t outputs = specialization_->memory.output_bytes - given;
    if (std::max({arena, outputs, copies}) < CallMemory::asked_from) throw;
    const std::int64_t mappable = mappable_memory("/");
    std::int64_t available = mappable;
    try {
        throw;
    } catch (const NotAvailable& lack) {
        available = std::min(lack.available, mappable);
    } catch (const std::bad_alloc&) {  // a limit of the process
    }
    const auto held = static_cast<std::int64_t>(arena_->bytes());
    available = std::min(available, max_bytes - held) + held;
    throw MemoryUnavailable({arena, outputs, copies}, available, specialization_->symbols);
}

void Run::set_input(std::size_t input, const void* data) noexcept {
    context_->bases[first_input_base + input] = as_word(data);
}

void Run::set_output(std::size_t output, void* data) noexcept {
    context_->bases[first_output_base(*runner_.program_) + output] = as_word(data);
}

const std::byte* Run::input(std::size_t input) const noexcept {
    return reinterpret_cast<const std::byte*>(context_->bases[first_input_base + input]);
}

void Run::begin() {
    Context& context = *context_;
    const auto arena_bytes = static_cast<std::size_t>(specialization_->memory.arena_bytes);
    const std::byte* arena = arena_->ensure(arena_bytes);
    context.bases[arena_base] = as_word(arena);
    if (context.last != specialization_) {
        context.last = specialization_;
        context.last_arena = nullptr;
        context.blocks.assign(specialization_->block_image.begin(),
                              specialization_->block_image.end());
        if (context.progress.size() < specialization_->steps.size()) {
            context.progress = std::vector<StepProgress>(specialization_->steps.size());
        }
    }
    if (context.last_arena != arena) {
        context.last_arena = arena;
        apply(specialization_->arena_patches, context.bases, context.blocks);
    }
    apply(specialization_->call_patches, context.bases, context.blocks);
}

void Run::execute(Stop* stop, std::int64_t shared_before) {
    if (stop != nullptr) stop->check();
    begin();
    runner_.runs_.fetch_add(1, std::memory_order_relaxed);
    const IfBusy if_busy = runner_.options_.wait_for_team ? IfBusy::wait : IfBusy::go_alone;
    TaskTrace* trace = TaskTrace::of_this_thread();
    if (trace != nullptr) trace->begin(runner_.program_, specialization_->steps, runner_.threads());
    use_team_or_go_alone(specialization_->steps, is_worth_a_team(shared_before), if_busy, stop,
                         trace);
    if (stop != nullptr) stop->check_at_end();
}

// Waking the team costs once; runs that follow it find it awake. So what counts is what all of them
// had to share so far, in loops of short iterations too.
bool Run::is_worth_a_team(std::int64_t shared_before) const noexcept {
    if (specialization_->worth_a_team) return true;
    const std::int64_t own = specialization_->shared_cost;
    return own > 0 && shared_before / 1000 >= runner_.options_.team_cost_ns - own / 1000;
}

void Run::use_team_or_go_alone(std::span<const ReadyStep> steps, bool worth_a_team,
                               IfBusy if_busy, Stop* stop, TaskTrace* trace) {
    Walk walk(steps, context_->blocks.data(), context_->progress,
              specialization_->window, runner_.threads(), stop, trace);
    if (runner_.threads() > 1 && worth_a_team) {
        walk.reset();
        const Team::Job job{
            .work = [](void* what,
                       int member) noexcept { static_cast<Walk*>(what)->together(member); },
            .what = &walk};
        Team& team = Team::process();
        const bool ran = if_busy == IfBusy::wait ? team.run(job, runner_.threads(), stop)
                                                 : team.try_run(job, runner_.threads());
        if (ran) {
            runner_.team_runs_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
    }
    if (specialization_->brief) return walk.alone();
    const Team::Alone alone(Team::process());
    walk.alone();  // at once over if it was stopped while it waited
}

// A step alone has nothing to wait for: those before it are done. Nor does it wait for the team:
// its caller holds the interpreter's lock, which the team's may need.
void Run::execute_step(std::size_t number, Stop* stop) {
    if (stop != nullptr) stop->check();
    ReadyStep step = specialization_->steps[number];
    step.waits = {};
    use_team_or_go_alone({&step, 1}, is_worth_a_team(0), IfBusy::go_alone, stop);
    if (stop != nullptr) stop->check_at_end();
}

std::byte* Run::address(std::size_t buffer) const noexcept {
    const Placement at = specialization_->placements[buffer];
    return reinterpret_cast<std::byte*>(context_->bases[at.base] + at.offset);
}

}  // namespace anyshape
