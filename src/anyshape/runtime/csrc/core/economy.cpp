#include "core/economy.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/size_math.h"

namespace anyshape {
namespace {

// So many parts are tried at most: each takes room for blocks of its own.
constexpr std::int64_t max_parts = 256;

// Sizes of parts that are tried along one axis.
constexpr int max_tries = 12;

// A whole call: `larger` parts of `size` first, then those with one step of the axis less. The plan
// of the larger ones is that of the smaller, too.
struct Division {
    const Split* split = nullptr;  // none: the whole at once
    std::int64_t size = 0;
    std::int64_t larger = 1;
    std::int64_t smaller = 0;
    std::shared_ptr<const Specialization> large;
    std::shared_ptr<const Specialization> small;
    LeanPlan plan;
    LeanPlan once;  // steps of the whole, after all parts

    std::int64_t arena_bytes() const { return std::max(plan.arena_bytes, once.arena_bytes); }

    bool is_cost_known() const { return large->cost != unknown_cost; }

    double cost() const {
        const double own = static_cast<double>(larger) * static_cast<double>(large->cost);
        const double others =
            small ? static_cast<double>(smaller) * static_cast<double>(small->cost) : 0.0;
        const double again = static_cast<double>(plan.again_cost);
        return own + others + static_cast<double>(larger + smaller) * again;
    }
};

class Search {
   public:
    Search(std::shared_ptr<const Specialization> usual, const ValueTable& table, std::int64_t room,
           const RunOptions& options)
        : usual_(std::move(usual)), room_(room), options_(options), planner_(table) {}

    // Steps in a row cost nothing but overlap, parts hardly more, computing again does.
    Division best() {
        const std::int64_t alive = usual_->memory.lower_bound_bytes;
        if (alive <= room_) {
            plan_whole();
            Division row = whole();
            if (row.plan.arena_bytes <= room_) return row;
            offer(std::move(row));
        }
        for (const Split& split : usual_->program->description().splits) try_parts(split, alive);
        if (!is_cheap()) {
            plan_whole();
            planner_.shrink_to(room_);
            offer(whole());
        }
        return std::move(*best_);
    }

   private:
    bool is_cheap() const {
        if (!best_) return false;
        constexpr double hardly_more = 1.1;
        const bool known = best_->is_cost_known() && usual_->cost != unknown_cost;
        return best_->arena_bytes() <= room_ && known &&
               best_->cost() <= hardly_more * static_cast<double>(usual_->cost);
    }

    void offer(Division division) {
        if (!best_ || is_better(division)) best_ = std::move(division);
    }

    bool is_better(const Division& division) const {
        const std::int64_t bytes = division.arena_bytes(), others = best_->arena_bytes();
        if ((bytes <= room_) != (others <= room_)) return bytes <= room_;
        return bytes <= room_ ? division.cost() < best_->cost() : bytes < others;
    }

    // As the planner has it.
    Division whole() {
        Division division;
        division.large = usual_;
        division.plan = fitting_plan();
        return division;
    }

    // What lies between buffers may take a plan beyond what is alive: then less is to be alive.
    LeanPlan fitting_plan() {
        LeanPlan plan = planner_.place(room_);
        for (int tries = 0; tries < 2; ++tries) {
            const std::int64_t alive = planner_.most_alive();
            if (plan.again.empty() || plan.arena_bytes <= room_ || alive > room_) break;
            planner_.shrink_to(alive - (plan.arena_bytes - room_));
            LeanPlan other = planner_.place(room_);
            if (other.arena_bytes < plan.arena_bytes) plan = std::move(other);
        }
        return plan;
    }

    // Parts as large as fit; what is alive grows about as they do, and is so much of the whole.
    void try_parts(const Split& split, std::int64_t alive) {
        const std::int64_t step = split.multiple_of;
        const std::int64_t units = usual_->symbols[split.symbol] / step;
        const std::int64_t least = std::max<std::int64_t>(
            {1, (split.least + step - 1) / step, (units + max_parts - 1) / max_parts});
        std::int64_t part = std::max(std::min(scaled(units, alive), units / 2), least);
        for (int tries = 1; tries <= max_tries && part >= least; ++tries) {
            if (tries == max_tries) part = least;
            const std::int64_t count = (units + part - 1) / part;
            if (count < 2 || units / count < least) return;
            std::optional<Division> division = divided(split, units, count);
            std::int64_t next = part / 2;
            if (division) {
                const std::int64_t bytes = division->arena_bytes();
                offer(std::move(*division));
                if (bytes <= room_) return;
                next = scaled(part, bytes);
            }
            part = std::max(std::min(part - 1, next), std::min(part - 1, least));
        }
    }

    // How many of so many units fit, if these take so many bytes.
    std::int64_t scaled(std::int64_t units, std::int64_t bytes) const {
        const auto room = static_cast<double>(room_);
        const double share = room / static_cast<double>(std::max<std::int64_t>(bytes, 1));
        return static_cast<std::int64_t>(static_cast<double>(units) * std::min(share, 1.0));
    }

    // Nothing if a part would run other variants than the whole.
    std::optional<Division> divided(const Split& split, std::int64_t units, std::int64_t count) {
        Division division;
        division.split = &split;
        division.size = (units + count - 1) / count * split.multiple_of;
        division.smaller = (count - units % count) % count;
        division.larger = count - division.smaller;
        division.large = part_of(split, division.size);
        if (!division.large) return std::nullopt;
        if (division.smaller > 0) {
            division.small = part_of(split, division.size - split.multiple_of);
            if (!division.small || !fits_into(*division.small, *division.large)) {
                return std::nullopt;
            }
        }
        plan_parts(division);
        return division;
    }

    void plan_parts(Division& division) {
        const std::vector<std::uint32_t>& once = division.split->once;
        planner_.measure(*division.large, once, LeanPlanner::Which::others);
        planner_.shrink_to(room_);
        division.plan = fitting_plan();
        if (once.empty()) return;
        planner_.measure(*usual_, once, LeanPlanner::Which::these);
        planner_.shrink_to(room_);
        division.once = planner_.place(room_);
    }

    void plan_whole() { planner_.measure(*usual_, {}, LeanPlanner::Which::others); }

    std::shared_ptr<const Specialization> part_of(const Split& split, std::int64_t size) const {
        std::vector<std::int64_t> symbols = usual_->symbols;
        symbols[split.symbol] = size;
        auto made = std::make_shared<const Specialization>(
            specialize_numbers(usual_->program, symbols, options_));
        return rounds_alike(*made) ? made : nullptr;
    }

    bool rounds_alike(const Specialization& part) const {
        const auto& steps = usual_->program->steps();
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (steps[i].carries_chain) continue;
            if (part.steps[i].variant != usual_->steps[i].variant) return false;
        }
        return true;
    }

    static bool runs_same_kernels(const Specialization& one, const Specialization& other) {
        return std::ranges::equal(one.steps, other.steps, [](const auto& a, const auto& b) {
            return a.variant == b.variant && (a.kernel == nullptr) == (b.kernel == nullptr);
        });
    }

    // Whether a plan for the larger is one for the smaller: the same accesses, none longer.
    static bool fits_into(const Specialization& smaller, const Specialization& larger) {
        const auto& bytes = smaller.buffer_bytes;
        const auto& room = larger.buffer_bytes;
        return runs_same_kernels(smaller, larger) &&
               std::ranges::equal(bytes, room, [](auto a, auto b) { return a <= b; });
    }

    const std::shared_ptr<const Specialization> usual_;
    const std::int64_t room_;
    const RunOptions& options_;
    LeanPlanner planner_;
    std::optional<Division> best_;
};

// The steps of a part, as if it began with the first element.
struct Passage {
    // Where what belongs to a step begins.
    struct Begin {
        std::size_t word;
        std::size_t arena_patch;
        std::size_t call_patch;
    };

    std::vector<ReadyStep> steps;
    std::vector<std::int64_t> block_image;
    std::vector<Patch> arena_patches;
    std::vector<Patch> call_patches;
    std::vector<Begin> begins;  // by step, and the ends

    void note_begin() {
        begins.push_back({block_image.size(), arena_patches.size(), call_patches.size()});
    }
};

class PassageWriter {
   public:
    PassageWriter(const Specialization& from, const ValueTable& table, const LeanPlan& plan)
        : from_(from), program_(*from.program), table_(table), plan_(plan) {}

    Passage write() && {
        made_.steps.reserve(plan_.runs.size());
        made_.block_image.reserve(program_.most_block_words() + plan_.again.size() * 16);
        made_.arena_patches.reserve(plan_.offsets.size());
        made_.call_patches.reserve(2 * program_.call_addresses());
        made_.begins.reserve(plan_.runs.size() + 1);
        for (const std::uint32_t number : plan_.runs) {
            ReadyStep step = from_.steps[number];
            made_.note_begin();
            step.block = made_.block_image.size();
            step.waits = {};  // each step is over when the next one starts
            made_.steps.push_back(step);
            for (const Source& source : sources_of(program_, step)) {
                const std::int64_t word =
                    std::visit([&](const auto& its) { return value_of(its); }, source);
                made_.block_image.push_back(word);
            }
        }
        made_.note_begin();
        return std::move(made_);
    }

   private:
    std::int64_t value_of(Word source) const { return from_.words[source.index]; }
    std::int64_t value_of(Immediate source) const { return source.value; }
    std::int64_t value_of(KernelAddress source) const {
        return reinterpret_cast<std::int64_t>(program_.description().kernels[source.kernel]);
    }

    std::int64_t value_of(Address source) {
        const Placement at = from_.placements[source.buffer];
        if (at.base == absolute_base) return at.offset;
        const auto position = static_cast<std::uint32_t>(made_.block_image.size());
        const std::uint32_t value = table_.value_of[source.buffer];
        if (value == no_value) {
            made_.call_patches.push_back({position, at.base, at.offset});
            return at.offset;
        }
        const std::int64_t within = at.offset - from_.placements[value].offset;
        const std::int64_t offset = plan_.offsets[next_++] + within;
        made_.arena_patches.push_back({position, arena_base, offset});
        return offset;
    }

    const Specialization& from_;
    const Program& program_;
    const ValueTable& table_;
    const LeanPlan& plan_;
    std::size_t next_ = 0;  // address in the arena
    Passage made_;
};

// One list of steps for all parts.
class Assembly {
   public:
    Assembly(std::shared_ptr<const Specialization> usual, const ValueTable& table,
             Division division, std::int64_t room, Specialization& into)
        : table_(table), division_(std::move(division)), usual_(*usual), result_(into) {
        clear();
        result_.program = usual_.program;
        result_.symbols = usual_.symbols;
        result_.words = usual_.words;
        result_.output_dims = usual_.output_dims;
        result_.buffer_bytes = usual_.buffer_bytes;
        result_.placements = usual_.placements;
        result_.memory = usual_.memory;
        result_.memory.arena_bytes = division_.arena_bytes();
        result_.memory.lower_bound_bytes =
            std::max(division_.plan.lower_bound_bytes, division_.once.lower_bound_bytes);
        result_.window = 1;
        result_.worth_a_team = division_.large->worth_a_team;
        result_.shared_cost = division_.large->shared_cost;
        const bool known = usual_.cost != unknown_cost && division_.is_cost_known();
        result_.cost = known ? static_cast<std::int64_t>(std::min(division_.cost(), most_cost))
                             : unknown_cost;
        measure_indices();
        describe(std::move(usual), room);
    }

    void make() && {
        std::vector<Passage> passages;
        passages.reserve(3);
        passages.push_back(written(*division_.large, division_.plan));
        if (division_.small) passages.push_back(written(*division_.small, division_.plan));
        if (!division_.once.runs.empty()) passages.push_back(written(usual_, division_.once));
        reserve(passages);
        const std::int64_t size = division_.size;
        add(passages[0], division_.larger, size);
        if (division_.small) {
            add(passages[1], division_.smaller, size - division_.split->multiple_of);
        }
        note_begin();
        if (!division_.once.runs.empty()) {
            begin_ = 0;
            append(passages.back());
            economy_->begins.back() = static_cast<std::uint32_t>(result_.steps.size());
        }
        result_.economy = std::move(economy_);
    }

   private:
    static constexpr double most_cost = 4e18;  // picoseconds, within 64 bits

    // What an earlier one left; tables keep their memory.
    void clear() {
        result_.steps.clear();
        result_.block_image.clear();
        result_.arena_patches.clear();
        result_.call_patches.clear();
        result_.brief = false;
        result_.economy.reset();
    }

    void describe(std::shared_ptr<const Specialization> usual, std::int64_t room) {
        economy_ = std::make_shared<Economy>();
        economy_->key = usual_.symbols;
        economy_->key.push_back(room);
        economy_->parts = division_.larger + division_.smaller;
        if (division_.split != nullptr) {
            economy_->symbol = division_.split->symbol;
            economy_->size = division_.size;
        }
        economy_->part_words = division_.large->words;
        economy_->part_bytes = division_.large->buffer_bytes;
        economy_->again = division_.plan.again;
        economy_->again_cost = division_.plan.again_cost;
        economy_->usual = std::move(usual);
    }

    void note_begin() {
        economy_->begins.push_back(static_cast<std::uint32_t>(result_.steps.size()));
    }

    Passage written(const Specialization& part, const LeanPlan& plan) const {
        return PassageWriter(part, table_, plan).write();
    }

    // For all parts at once.
    void reserve(std::span<const Passage> passages) {
        std::size_t steps = 0;
        Passage::Begin all{};
        for (std::size_t i = 0; i < passages.size(); ++i) {
            const Passage& passage = passages[i];
            const std::int64_t parts = i == 0 ? division_.larger : division_.smaller;
            const bool once = &passage == &passages.back() && !division_.once.runs.empty();
            const auto others = once ? 0 : static_cast<std::size_t>(parts - 1);
            steps += passage.steps.size() * (others + 1);
            add_to(all, {}, passage.begins.back(), 1);
            for (std::size_t step = 0; others > 0 && step < passage.steps.size(); ++step) {
                if (!is_divided(passage, step)) continue;
                add_to(all, passage.begins[step], passage.begins[step + 1], others);
            }
        }
        result_.steps.reserve(steps);
        result_.block_image.reserve(all.word);
        result_.arena_patches.reserve(all.arena_patch);
        result_.call_patches.reserve(all.call_patch);
    }

    static void add_to(Passage::Begin& all, Passage::Begin from, Passage::Begin to,
                       std::size_t times) {
        all.word += (to.word - from.word) * times;
        all.arena_patch += (to.arena_patch - from.arena_patch) * times;
        all.call_patch += (to.call_patch - from.call_patch) * times;
    }

    // So many parts of a size. They differ in where the divided inputs and outputs are: steps that
    // use none of these have the same block in all parts.
    void add(const Passage& passage, std::int64_t count, std::int64_t size) {
        const std::size_t first = result_.block_image.size();
        append(passage);
        begin_ += size;
        for (std::int64_t i = 1; i < count; ++i, begin_ += size) append_again(passage, first);
    }

    void append(const Passage& passage) {
        note_begin();
        const std::size_t first = result_.block_image.size();
        for (ReadyStep step : passage.steps) {
            step.block += first;
            result_.steps.push_back(step);
        }
        append_blocks(passage, 0, passage.steps.size());
    }

    // A passage whose words are there already from `first` on.
    void append_again(const Passage& passage, std::size_t first) {
        note_begin();
        for (std::size_t i = 0; i < passage.steps.size(); ++i) {
            ReadyStep step = passage.steps[i];
            if (is_divided(passage, i)) {
                step.block = result_.block_image.size();
                append_blocks(passage, i, i + 1);
            } else {
                step.block += first;
            }
            result_.steps.push_back(step);
        }
    }

    bool is_divided(const Passage& passage, std::size_t step) const {
        const std::size_t begin = passage.begins[step].call_patch;
        const auto own = std::span(passage.call_patches)
                             .subspan(begin, passage.begins[step + 1].call_patch - begin);
        return std::ranges::any_of(own, [&](auto patch) { return index_bytes_[patch.base] != 0; });
    }

    // Those of some of its steps.
    void append_blocks(const Passage& passage, std::size_t from, std::size_t to) {
        const Passage::Begin begin = passage.begins[from], end = passage.begins[to];
        const auto moved = static_cast<std::uint32_t>(result_.block_image.size() - begin.word);
        const auto part = [](const auto& all, std::size_t first, std::size_t last) {
            return std::span(all).subspan(first, last - first);
        };
        const auto image = part(passage.block_image, begin.word, end.word);
        result_.block_image.insert(result_.block_image.end(), image.begin(), image.end());
        for (Patch patch : part(passage.arena_patches, begin.arena_patch, end.arena_patch)) {
            patch.position += moved;  // modulo 2^32
            result_.arena_patches.push_back(patch);
        }
        for (Patch patch : part(passage.call_patches, begin.call_patch, end.call_patch)) {
            patch.position += moved;
            patch.offset += index_bytes_[patch.base] * begin_;
            result_.call_patches.push_back(patch);
        }
    }

    // Of inputs and outputs that are divided, what lies between two indices of the axis.
    void measure_indices() {
        const Program& program = *usual_.program;
        const std::uint32_t outputs = first_output_base(program);
        index_bytes_.assign(outputs + program.outputs().size(), 0);
        if (division_.split == nullptr) return;
        const std::int64_t whole = usual_.symbols[division_.split->symbol];
        for (const std::uint32_t output : division_.split->outputs) {
            const std::uint32_t buffer = program.outputs()[output].buffer;
            index_bytes_[outputs + output] = usual_.buffer_bytes[buffer] / whole;
        }
        std::vector<std::int64_t> bytes(outputs, 0);  // of inputs that a step reads, by base
        const auto& buffers = program.buffers();
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            const auto* store = std::get_if<InputStore>(&buffers[i].store);
            if (store != nullptr) bytes[first_input_base + store->index] = usual_.buffer_bytes[i];
        }
        for (const std::uint32_t input : division_.split->inputs) {
            index_bytes_[first_input_base + input] = bytes[first_input_base + input] / whole;
        }
    }

    const ValueTable& table_;
    const Division division_;
    const Specialization& usual_;
    Specialization& result_;
    std::shared_ptr<Economy> economy_;
    std::vector<std::int64_t> index_bytes_;  // by base
    std::int64_t begin_ = 0;                 // the first index of the next part
};

}  // namespace

void Economist::within(Specialization& into, std::shared_ptr<const Specialization> usual,
                       std::int64_t room, const RunOptions& options) const {
    Division division = Search(usual, table_, room, options).best();
    Assembly(std::move(usual), table_, std::move(division), room, into).make();
}

}  // namespace anyshape
