#include "core/specialization.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/failures.h"
#include "core/size_math.h"

namespace anyshape {
namespace {

// Threads count a little beyond the last task, and that must not overflow.
constexpr std::int64_t max_tasks = std::int64_t{1} << 48;

// Two of them can be added: 53 days in picoseconds.
constexpr std::int64_t max_cost = std::int64_t{1} << 62;

double picoseconds(std::int64_t nanoseconds) { return 1e3 * static_cast<double>(nanoseconds); }

// Of a specialization; `numbers` are words, sizes, variants and costs.
enum class Detail : std::uint8_t { all, numbers };

// The parts of specialize(), in the order in which they run.
class Specializer {
   public:
    Specializer(Specialization& into, std::shared_ptr<const Program> program,
                std::span<const std::int64_t> symbols, const RunOptions& options,
                const StaticMemory* places, const Specialization* latest = nullptr)
        : program_(*program),
          options_(options),
          places_(places),
          latest_(latest),
          result_(into) {
        result_.program = std::move(program);
        result_.symbols.assign(symbols.begin(), symbols.end());
        result_.window = program_.description().window;
        clear();
    }

    void make(Detail detail) && {
        compute_words();
        measure_buffers();
        measure_arena_buffers();
        if (detail == Detail::all) place_arena_buffers();
        place_other_buffers();
        if (detail == Detail::all) shape_outputs();
        result_.steps.reserve(program_.steps().size());
        for (std::size_t i = 0; i < program_.steps().size(); ++i) ready_step(i);
        if (detail == Detail::all) fill_blocks();
        judge_cost();
    }

   private:
    // What an earlier binding left; tables keep their memory.
    void clear() {
        result_.steps.clear();
        result_.arena_patches.clear();
        result_.call_patches.clear();
        result_.output_dims.clear();
        result_.block_image.clear();
        result_.memory = {};
        result_.cost = unknown_cost;
        result_.shared_cost = 0;
        result_.worth_a_team = result_.brief = false;
    }

    void compute_words() {
        result_.words.resize(program_.description().words);
        const std::int64_t check =
            program_.description().shape(result_.symbols.data(), result_.words.data());
        if (check != all_checks_hold) throw CheckFailed(Stage::shape, check, result_.symbols);
    }

    std::int64_t word(std::uint32_t index) const { return result_.words[index]; }

    void measure_buffers() {
        const auto& buffers = program_.buffers();
        result_.buffer_bytes.resize(buffers.size());
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            const std::int64_t bytes = word(buffers[i].bytes);
            if (bytes < 0 || bytes > max_bytes) impossible("bytes of buffer", i, bytes);
            result_.buffer_bytes[i] = bytes;
        }
    }

    // With a slice for each worker, where they have slices.
    void measure_arena_buffers() {
        has_places_ = places_ != nullptr;
        result_.placements.resize(program_.buffers().size());
        for (std::size_t i = 0; i < program_.arena_buffers().size(); ++i) {
            const auto [buffer, per_worker] = program_.arena_buffers()[i];
            const int slices = per_worker ? options_.threads : 1;
            const auto total = checked_multiply(result_.buffer_bytes[buffer], slices);
            if (!total) impossible("bytes of buffer", buffer, result_.buffer_bytes[buffer]);
            result_.buffer_bytes[buffer] = *total;
            result_.placements[buffer] = {arena_base, 0};
            has_places_ = has_places_ && *total <= places_->bytes[i];
        }
    }

    void place_arena_buffers() {
        if (has_places_) {
            place_arena_buffers(places_->plan, places_->lower_bound_bytes);
        } else if (has_arena_of_latest()) {
            place_as_in_latest();
        } else {
            plan_arena_buffers();
        }
    }

    // A plan is a function of these sizes alone.
    bool has_arena_of_latest() const {
        return latest_ != nullptr && std::ranges::all_of(program_.arena_buffers(), [&](auto each) {
            return result_.buffer_bytes[each.buffer] == latest_->buffer_bytes[each.buffer];
        });
    }

    void place_as_in_latest() {
        result_.memory.arena_bytes = latest_->memory.arena_bytes;
        result_.memory.lower_bound_bytes = latest_->memory.lower_bound_bytes;
        for (const auto& each : program_.arena_buffers()) {
            result_.placements[each.buffer].offset = latest_->placements[each.buffer].offset;
        }
    }

    void plan_arena_buffers() {
        const auto& arena = program_.arena_buffers();
        std::vector<std::int64_t> bytes(arena.size());
        for (std::size_t i = 0; i < arena.size(); ++i) {
            bytes[i] = result_.buffer_bytes[arena[i].buffer];
        }
        const Conflicts& conflicts = program_.conflicts();
        const std::int64_t bound = most_live_bytes(bytes, conflicts.lifetimes());
        place_arena_buffers(plan_memory(bytes, conflicts, bound), bound);
    }

    void place_arena_buffers(const MemoryPlan& plan, std::int64_t lower_bound) {
        const auto& arena = program_.arena_buffers();
        result_.memory.arena_bytes = plan.arena_bytes;
        result_.memory.lower_bound_bytes = lower_bound;
        for (std::size_t i = 0; i < arena.size(); ++i) {
            result_.placements[arena[i].buffer].offset = plan.offsets[i];
        }
    }

    void place_other_buffers() {
        const auto& buffers = program_.buffers();
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            std::visit([&](const auto& store) { place(i, store); }, buffers[i].store);
        }
    }

    void place(std::size_t, const ArenaStore&) {}

    void place(std::size_t buffer, const InputStore& store) {
        result_.placements[buffer] = {first_input_base + store.index, 0};
    }

    void place(std::size_t buffer, const OutputStore& store) {
        result_.placements[buffer] = {first_output_base(program_) + store.index, 0};
        result_.memory.output_bytes = sum(result_.memory.output_bytes, buffer);
    }

    void place(std::size_t buffer, const ConstantStore& store) {
        const std::uintptr_t address = program_.description().constants[store.index];
        result_.placements[buffer] = {absolute_base, static_cast<std::int64_t>(address)};
    }

    void place(std::size_t buffer, const AliasStore& alias) {
        const std::int64_t offset = alias.offset ? word(*alias.offset) : 0;
        const std::int64_t bytes = result_.buffer_bytes[buffer];
        if (offset < 0 || offset >= max_bytes) impossible("offset of buffer", buffer, offset);
        if (offset > result_.buffer_bytes[alias.of] - bytes) {
            impossible("end of buffer", buffer, offset + bytes);
        }
        const Placement target = result_.placements[alias.of];
        const auto total = checked_add(target.offset, offset);
        if (!total) impossible("offset of buffer", buffer, offset);
        result_.placements[buffer] = {target.base, *total};
        std::int64_t& saved =
            alias.in_place ? result_.memory.in_place_bytes : result_.memory.aliased_bytes;
        saved = sum(saved, buffer);
    }

    std::int64_t sum(std::int64_t total, std::size_t buffer) const {
        const auto more = checked_add(total, result_.buffer_bytes[buffer]);
        if (!more) impossible("bytes of buffer", buffer, result_.buffer_bytes[buffer]);
        return *more;
    }

    // The shapes that the caller sees must fit the memory that kernels write.
    void shape_outputs() {
        result_.output_dims.reserve(program_.output_dim_begin(program_.outputs().size()));
        for (const Output& output : program_.outputs()) {
            std::optional<std::int64_t> bytes = output.type.bytes();
            for (const std::uint32_t dim : output.dims) {
                const std::int64_t size = word(dim);
                if (size < 0) impossible("a size of the output in buffer", output.buffer, size);
                result_.output_dims.push_back(size);
                if (bytes) bytes = checked_multiply(*bytes, size);
            }
            if (!bytes || *bytes > result_.buffer_bytes[output.buffer]) {
                impossible("bytes, too few for its shape, of buffer", output.buffer,
                           result_.buffer_bytes[output.buffer]);
            }
        }
    }

    void ready_step(std::size_t index) {
        const Step& step = program_.steps()[index];
        const std::int64_t tasks = word(step.tasks);
        const std::int64_t variant = step.variant ? word(*step.variant) : 0;
        if (tasks < 0 || tasks > max_tasks) impossible("tasks of step", index, tasks);
        if (variant < 0 || variant >= std::ssize(step.variants)) {
            impossible("variant of step", index, variant);
        }
        const Variant& chosen = step.variants[static_cast<std::size_t>(variant)];
        const std::int64_t cost =
            step.cost ? std::max<std::int64_t>(word(*step.cost), 0) : unknown_cost;
        result_.steps.push_back({
            .kernel = tasks > 0 ? program_.description().kernels[chosen.kernel] : nullptr,
            .tasks = std::max<std::int64_t>(tasks, 1),
            .ranges = ranges_of(std::max<std::int64_t>(tasks, 1), cost),
            .block = 0,
            .waits = step.waits,
            .cost = cost,
            .variant = static_cast<std::uint32_t>(variant),
            .number = static_cast<std::uint32_t>(index),
        });
    }

    // Four for each thread: the last ones to finish are then not far apart. But no range takes less
    // time than it takes another thread to notice it, and every thread has as many as the others.
    int ranges_of(std::int64_t tasks, std::int64_t cost) const {
        auto most = static_cast<double>(std::min<std::int64_t>(tasks, 4 * options_.threads));
        if (cost != unknown_cost) {
            const double split_cost = picoseconds(options_.split_cost_ns);
            if (cost == 0 || static_cast<double>(cost) < split_cost) return 1;
            most = std::min(most, static_cast<double>(cost) / (split_cost / 4));
        }
        const int ranges = std::min(static_cast<int>(most), max_ranges);
        return ranges > options_.threads ? ranges - ranges % options_.threads : ranges;
    }

    // Of each step the words of the kernel that runs: those of a chain that does not run are many.
    void fill_blocks() {
        result_.block_image.reserve(program_.most_block_words());
        result_.arena_patches.reserve(program_.arena_addresses());
        result_.call_patches.reserve(program_.call_addresses());
        for (ReadyStep& ready : result_.steps) {
            if (ready.kernel == nullptr) continue;
            ready.block = result_.block_image.size();
            for (const Source& source : program_.steps()[ready.number].words_of(ready.variant)) {
                result_.block_image.push_back(
                    std::visit([&](const auto& its) { return value_of(its); }, source));
            }
        }
    }

    std::int64_t value_of(Word source) const { return word(source.index); }
    std::int64_t value_of(Immediate source) const { return source.value; }
    std::int64_t value_of(KernelAddress source) const {
        return reinterpret_cast<std::int64_t>(program_.description().kernels[source.kernel]);
    }

    // The address, or what is known of it: those that differ between runs become patches.
    std::int64_t value_of(Address source) {
        const Placement at = result_.placements[source.buffer];
        if (at.base != absolute_base) {
            auto& patches = at.base == arena_base ? result_.arena_patches : result_.call_patches;
            const auto position = static_cast<std::uint32_t>(result_.block_image.size());
            patches.push_back({position, at.base, at.offset});
        }
        return at.offset;
    }

    // Without an estimate, work that can be split is taken to be worth splitting.
    void judge_cost() {
        const auto is_shared = [](const ReadyStep& step) { return step.ranges > 1; };
        const auto& steps = result_.steps;
        const bool unknown = std::ranges::any_of(
            steps, [](const ReadyStep& step) { return step.cost == unknown_cost; });
        if (unknown) {
            result_.worth_a_team = std::ranges::any_of(steps, is_shared);
            result_.shared_cost = result_.worth_a_team ? max_cost : 0;
            return;
        }
        result_.cost = 0;
        for (const ReadyStep& step : steps) {
            const std::int64_t own = std::min(step.cost, max_cost);
            result_.cost = std::min(result_.cost + own, max_cost);
            if (!is_shared(step)) continue;
            result_.shared_cost = std::min(result_.shared_cost + own, max_cost);
        }
        const double team_cost = picoseconds(options_.team_cost_ns);
        const auto shared = static_cast<double>(result_.shared_cost);
        result_.brief = static_cast<double>(result_.cost) < team_cost;
        result_.worth_a_team = shared > 0 && shared >= team_cost;
    }

    [[noreturn]] static void impossible(const char* what, std::size_t index, std::int64_t value) {
        throw ImpossibleSize(std::string(what) + " " + std::to_string(index), value);
    }

    const Program& program_;
    const RunOptions& options_;
    const StaticMemory* const places_;
    const Specialization* const latest_;
    Specialization& result_;
    bool has_places_ = false;   // all buffers fit where the static memory has them
};

template <typename T>
std::size_t bytes_of(const std::vector<T>& vector) noexcept {
    return vector.capacity() * sizeof(T);
}

}  // namespace

std::int64_t Specialization::elapsed(int threads) const noexcept {
    if (cost == unknown_cost || !worth_a_team) return cost;
    std::int64_t total = 0;
    for (const ReadyStep& step : steps) {
        const std::int64_t own = std::min(step.cost, max_cost);
        total = std::min(total + own / std::min(step.ranges, threads), max_cost);
    }
    return total;
}

std::size_t Specialization::held_bytes() const noexcept {
    const std::size_t economical =
        economy ? sizeof(*economy) + bytes_of(economy->key) + bytes_of(economy->begins) +
                      bytes_of(economy->again) + bytes_of(economy->part_words) +
                      bytes_of(economy->part_bytes)
                : 0;
    return sizeof(*this) + economical + bytes_of(symbols) + bytes_of(words) + bytes_of(steps) +
           bytes_of(block_image) + bytes_of(arena_patches) + bytes_of(call_patches) +
           bytes_of(output_dims) + bytes_of(buffer_bytes) + bytes_of(placements);
}

Specialization specialize(std::shared_ptr<const Program> program,
                          std::span<const std::int64_t> symbols, const RunOptions& options,
                          const StaticMemory* places) {
    Specialization made;
    specialize_into(made, std::move(program), symbols, options, places);
    return made;
}

void specialize_into(Specialization& into, std::shared_ptr<const Program> program,
                     std::span<const std::int64_t> symbols, const RunOptions& options,
                     const StaticMemory* places, const Specialization* latest) {
    Specializer(into, std::move(program), symbols, options, places, latest).make(Detail::all);
}

Specialization specialize_numbers(std::shared_ptr<const Program> program,
                                  std::span<const std::int64_t> symbols,
                                  const RunOptions& options) {
    Specialization made;
    Specializer(made, std::move(program), symbols, options, nullptr).make(Detail::numbers);
    return made;
}

}  // namespace anyshape
