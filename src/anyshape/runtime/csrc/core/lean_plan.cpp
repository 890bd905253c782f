#include "core/lean_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/overloaded.h"
#include "core/size_math.h"

namespace anyshape {
namespace {

constexpr std::uint32_t nowhere = ~std::uint32_t{0};

// Bounds of the search: it is linear in the number of steps.
constexpr int max_rounds = 64;           // values that are computed again
constexpr std::size_t max_tries = 4;     // candidates that are looked at in each
constexpr std::size_t max_together = 8;  // steps that run again for one value

// Picoseconds, more than an hour: sums of all that run again fit.
constexpr std::int64_t max_cost = std::int64_t{1} << 52;

const Address* address_of(const Source& source) { return std::get_if<Address>(&source); }

}  // namespace

// ---- what holds for all sizes ------------------------------------------------------------------

namespace {

// Buffers of callers that steps may find changed, or must not change twice.
class Callers {
   public:
    explicit Callers(const Program& program) : program_(program) {}

    bool is_output(std::uint32_t buffer) const {
        return std::holds_alternative<OutputStore>(home(buffer));
    }

    // Whether its contents are the same from when they are written to the end.
    bool is_steady(std::uint32_t buffer) const {
        return std::visit(Overloaded{[&](const InputStore& its) {
                                         return !program_.is_start(its.index);
                                     },
                                     [&](const OutputStore& its) {
                                         return !program_.outputs()[its.index].start.has_value();
                                     },
                                     [](const auto&) { return true; }},
                          home(buffer));
    }

   private:
    const Store& home(std::uint32_t buffer) const {
        const Store* store = &program_.buffers()[buffer].store;
        while (const auto* alias = std::get_if<AliasStore>(store)) {
            store = &program_.buffers()[alias->of].store;
        }
        return *store;
    }

    const Program& program_;
};

}  // namespace

ValueTable::ValueTable(const Program& program)
    : value_of(program.buffers().size(), no_value),
      writer(program.buffers().size(), nowhere),
      over(program.buffers().size(), no_value),
      again(program.steps().size(), true) {
    const auto& buffers = program.buffers();
    for (std::uint32_t i = 0; i < buffers.size(); ++i) {
        if (std::holds_alternative<ArenaStore>(buffers[i].store)) value_of[i] = i;
        const auto* alias = std::get_if<AliasStore>(&buffers[i].store);
        if (alias == nullptr || value_of[alias->of] == no_value) continue;
        value_of[i] = alias->in_place ? i : value_of[alias->of];
    }
    note_writers(program);
    note_accesses(program);
}

void ValueTable::note_writers(const Program& program) {
    const auto& buffers = program.buffers();
    // What is written in place names the buffer that is in the arena.
    const Callers callers(program);
    std::vector<std::uint8_t> seen(buffers.size(), 0);
    // What was written last into the memory of each value that others are written over.
    std::vector<std::uint32_t> latest(buffers.size(), no_value);
    for (std::uint32_t step = 0; step < program.steps().size(); ++step) {
        for (const Source& source : program.steps()[step].block) {
            const Address* address = address_of(source);
            if (address == nullptr) continue;
            const std::uint32_t buffer = address->buffer, value = value_of[buffer];
            const bool first = std::exchange(seen[buffer], std::uint8_t{1}) == 0;
            if (!callers.is_steady(buffer) || (first && callers.is_output(buffer))) {
                again[step] = false;
            }
            if (value == no_value || writer[value] != nowhere) continue;
            writer[value] = step;  // a value is written before it is read
            const auto* alias = std::get_if<AliasStore>(&buffers[value].store);
            const std::uint32_t root = alias == nullptr ? value : alias->of;
            if (alias != nullptr) over[value] = latest[root];
            latest[root] = value;
        }
    }
}

std::span<const Source> sources_of(const Program& program, const ReadyStep& step) {
    return program.steps()[step.number].words_of(step.variant);
}

void ValueTable::note_accesses(const Program& program) {
    access_begins_.push_back(0);
    for (const Step& step : program.steps()) {
        variant_begins_.push_back(access_begins_.size() - 1);
        for (std::size_t variant = 0; variant < step.variants.size(); ++variant) {
            for (const Source& source : step.words_of(variant)) {
                const Address* address = address_of(source);
                if (address == nullptr) continue;
                const std::uint32_t value = value_of[address->buffer];
                if (value != no_value) accesses_.push_back(value);
            }
            access_begins_.push_back(accesses_.size());
        }
    }
}

// ---- how much is alive --------------------------------------------------------------------------

LeanPlanner::LeanPlanner(const ValueTable& table)
    : table_(&table), current_(table.value_of.size()), seen_(table.value_of.size()) {}

std::int64_t LeanPlanner::bytes(std::uint32_t value) const {
    return align_up(sized_->buffer_bytes[value]);
}

void LeanPlanner::measure(const Specialization& sized, std::span<const std::uint32_t> steps,
                          Which which) {
    sized_ = &sized;
    runs_.clear();
    runs_.reserve(sized.steps.size());
    for (const ReadyStep& step : sized.steps) {
        if (step.kernel == nullptr) continue;
        const bool is_named = std::ranges::find(steps, step.number) != steps.end();
        if (is_named == (which == Which::these)) runs_.push_back(step.number);
    }
    again_.clear();
    again_cost_ = 0;
    rounds_ = 0;
    follow(runs_);
}

// Instances, their memory, and how much is alive at each run.
void LeanPlanner::follow(std::span<const std::uint32_t> runs) {
    instances_.clear();
    std::ranges::fill(current_, nowhere);
    for (std::uint32_t run = 0; run < runs.size(); ++run) note_run(run, runs[run]);
    share_memory();
    find_fullest(runs.size());
}

void LeanPlanner::note_run(std::uint32_t run, std::uint32_t step) {
    const auto first_new = static_cast<std::uint32_t>(instances_.size());
    for (const std::uint32_t value : accesses(step)) {
        std::uint32_t& current = current_[value];
        const bool written = table_->writer[value] == step;
        // What a step without tasks would have written is empty.
        if (current == nowhere || (written && instances_[current].first != run)) {
            instances_.push_back({.value = value,
                                  .first = run,
                                  .last = run,
                                  .before = current,
                                  .over = nowhere,
                                  .unit = nowhere});
            current = static_cast<std::uint32_t>(instances_.size() - 1);
        }
        instances_[current].last = run;
    }
    for (std::uint32_t i = first_new; i < instances_.size(); ++i) {
        const std::uint32_t over = table_->over[instances_[i].value];
        if (over != no_value) instances_[i].over = current_[over];
    }
}

// A result has the memory of the operand that it may be written over, if nobody reads that later.
void LeanPlanner::share_memory() {
    units_.clear();
    for (Instance& instance : instances_) {
        const Instance* over = instance.over == nowhere ? nullptr : &instances_[instance.over];
        if (over != nullptr && over->last == instance.first &&
            bytes(over->value) == bytes(instance.value)) {
            instance.unit = over->unit;
            units_[instance.unit].lifetime.last = instance.last;
        } else {
            instance.unit = static_cast<std::uint32_t>(units_.size());
            units_.push_back({{instance.first, instance.last}, bytes(instance.value)});
        }
    }
}

// Sums of sizes that each fit, and may not fit together.
void LeanPlanner::find_fullest(std::size_t runs) {
    change_.assign(runs + 1, 0);
    for (const Unit& unit : units_) {
        change_[unit.lifetime.first] += unit.bytes;
        change_[unit.lifetime.last + 1] -= unit.bytes;
    }
    fullness_ = {};
    fullest_ = 0;
    __int128 live = 0;
    for (std::uint32_t run = 0; run < runs; ++run) {
        live += change_[run];
        const auto alive = static_cast<std::int64_t>(std::min<__int128>(live, max_bytes));
        if (alive > fullness_.bytes) {
            fullness_ = {alive, 0};
            fullest_ = run;
        }
        if (alive == fullness_.bytes) ++fullness_.runs;
    }
}

// ---- computing again ----------------------------------------------------------------------------

bool LeanPlanner::Candidate::is_better_than(const Candidate& other) const {
    return static_cast<double>(saved) * static_cast<double>(other.cost) >
           static_cast<double>(other.saved) * static_cast<double>(cost);
}

void LeanPlanner::shrink_to(std::int64_t room) {
    for (; rounds_ < max_rounds && fullness_.bytes > room; ++rounds_) {
        if (!shrink()) return;
    }
}

// Computes one value again, so that less is alive where the most was, or in fewer runs.
bool LeanPlanner::shrink() {
    std::vector<Candidate> candidates = find_candidates();
    const Fullness before = fullness_;
    for (std::size_t tries = 0; tries < max_tries && !candidates.empty(); ++tries) {
        const auto best = std::ranges::max_element(
            candidates, [](const auto& a, const auto& b) { return b.is_better_than(a); });
        std::vector<std::uint32_t> longer = runs_;
        longer.insert(longer.begin() + best->before, best->steps.begin(), best->steps.end());
        follow(longer);
        if (fullness_ < before) {
            runs_ = std::move(longer);
            again_.insert(again_.end(), best->steps.begin(), best->steps.end());
            again_cost_ += best->cost;
            return true;
        }
        candidates.erase(best);
    }
    follow(runs_);
    return false;
}

// Values that are alive at the fullest run, which does not use them.
std::vector<LeanPlanner::Candidate> LeanPlanner::find_candidates() {
    std::ranges::fill(seen_, std::uint8_t{0});
    for (const std::uint32_t value : accesses(runs_[fullest_])) seen_[value] = 1;
    std::vector<Candidate> candidates;
    for (std::uint32_t run = fullest_ + 1; run < runs_.size(); ++run) {
        for (const std::uint32_t value : accesses(runs_[run])) {
            if (std::exchange(seen_[value], std::uint8_t{1}) != 0) continue;
            const std::uint32_t instance = instance_at(value, fullest_);
            if (instance == nowhere || instances_[instance].last < run) continue;
            if (auto found = candidate(value, run)) candidates.push_back(std::move(*found));
        }
    }
    return candidates;
}

// Of a value before a run: the last one that was written.
std::uint32_t LeanPlanner::instance_at(std::uint32_t value, std::uint32_t run) const {
    std::uint32_t instance = current_[value];
    while (instance != nowhere && instances_[instance].first >= run) {
        instance = instances_[instance].before;
    }
    return instance;
}

std::optional<LeanPlanner::Candidate> LeanPlanner::candidate(std::uint32_t value,
                                                             std::uint32_t before) const {
    Candidate made{.before = before, .steps = {}, .saved = bytes(value), .cost = 0};
    std::vector<std::uint32_t> needed = {value};
    while (!needed.empty()) {
        const std::uint32_t step = table_->writer[needed.back()];
        needed.pop_back();
        if (sized_->steps[step].kernel == nullptr) continue;
        if (std::ranges::count(made.steps, step) > 0) continue;
        if (!table_->again[step] || made.steps.size() == max_together) return std::nullopt;
        made.steps.push_back(step);
        made.cost += std::clamp<std::int64_t>(sized_->steps[step].cost, 1, max_cost);
        for (const std::uint32_t operand : accesses(step)) {
            if (table_->writer[operand] != step) keep(operand, made, needed);
        }
    }
    if (made.saved <= 0) return std::nullopt;
    std::ranges::sort(made.steps);
    return made;
}

// An operand of a step that runs again: it is still there, or lives on, or is computed, too.
void LeanPlanner::keep(std::uint32_t operand, Candidate& made,
                       std::vector<std::uint32_t>& needed) const {
    const std::uint32_t instance = instance_at(operand, made.before);
    if (instance != nowhere && instances_[instance].last >= fullest_) return;
    if (table_->again[table_->writer[operand]]) return needed.push_back(operand);
    made.saved -= bytes(operand);
}

// ---- places -------------------------------------------------------------------------------------

// A sweep is quick. Where it does not fit, and another plan might, other orders are tried.
MemoryPlan LeanPlanner::placed(std::int64_t room) const {
    std::vector<Lifetime> lifetimes;
    std::vector<std::int64_t> sizes;
    lifetimes.reserve(units_.size());
    sizes.reserve(units_.size());
    for (const Unit& unit : units_) {
        lifetimes.push_back(unit.lifetime);
        sizes.push_back(unit.bytes);
    }
    const std::int64_t enough = std::max(room, fullness_.bytes);
    return plan_in_order(sizes, std::move(lifetimes), enough, fullness_.bytes <= room);
}

LeanPlan LeanPlanner::place(std::int64_t room) const {
    const MemoryPlan found = placed(room);
    LeanPlan plan{.runs = runs_,
                  .again = again_,
                  .offsets = {},
                  .arena_bytes = found.arena_bytes,
                  .lower_bound_bytes = fullness_.bytes,
                  .again_cost = again_cost_};
    plan.offsets.reserve(sized_->program->arena_addresses() + 16 * again_.size());
    std::vector<std::uint32_t> current(current_.size(), nowhere);
    std::uint32_t next = 0;  // instances are in the order of their runs
    for (std::uint32_t run = 0; run < runs_.size(); ++run) {
        for (; next < instances_.size() && instances_[next].first == run; ++next) {
            current[instances_[next].value] = next;
        }
        for (const std::uint32_t value : accesses(runs_[run])) {
            plan.offsets.push_back(found.offsets[instances_[current[value]].unit]);
        }
    }
    return plan;
}

}  // namespace anyshape
