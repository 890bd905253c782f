#include "core/course.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/available_memory.h"
#include "core/failures.h"
#include "core/size_math.h"

namespace anyshape {
namespace {

using Frame = CourseContext::Frame;

constexpr std::size_t max_idle_contexts = 16;

// More than a step needs, fewer than anyone would notice.
constexpr std::size_t max_free_blocks = 32;

// Programs that take longer look for interrupts themselves.
constexpr std::int64_t long_program = 1'000'000'000;  // picoseconds

// Where values without memory lie.
alignas(64) constinit std::array<std::byte, 64> nowhere{};

bool truth_of(const Value& value) { return *value.data != std::byte{0}; }

std::int64_t number_of(const Value& value) {
    std::int64_t number = 0;
    std::memcpy(&number, value.data, sizeof(number));
    return number;
}

// Bytes of one row, and of all: they exist, so the product fits.
std::int64_t row_bytes(const Value& value, std::uint32_t item_bytes) {
    std::int64_t bytes = item_bytes;
    for (std::size_t axis = 1; axis < value.dims.size(); ++axis) bytes *= value.dims[axis];
    return bytes;
}

// Of memory that is still to be taken: beyond max_bytes, all are alike.
std::int64_t bytes_of_shape(const Value& value, std::uint32_t item_bytes) {
    std::optional<std::int64_t> bytes = item_bytes;
    if (std::ranges::find(value.dims, 0) != value.dims.end()) return 0;
    for (const std::int64_t size : value.dims) {
        if (bytes) bytes = checked_multiply(*bytes, size);
    }
    return bytes.value_or(max_bytes);
}

std::int64_t bytes_of(const Value& value, std::int64_t item_bytes) {
    std::int64_t bytes = item_bytes;
    for (const std::int64_t size : value.dims) bytes *= size;
    return bytes;
}

// The parts of one run.
class Walker {
   public:
    Walker(const CourseDescription& course, CourseContext& context, const CourseLimits& limits)
        : course_(course), context_(context), limits_(limits) {}

    void walk_graph() {
        Frame& frame = context_.frames[0];
        Run& entry = context_.run_of(0);
        take_inputs(entry, frame);
        run_program(entry, nullptr, course_.entered, {}, frame);
        tell_symbols(entry, frame);
        walk(0);
        if (limits_.stop != nullptr) limits_.stop->check_at_end();
    }

   private:
    void walk(std::uint32_t number) {
        Frame& frame = context_.frames[number];
        for (const CourseStep& step : course_.regions[number].steps) {
            std::visit([&](const auto& work) { run(work, step.over, frame, number); }, step.work);
            for (const std::uint32_t slot : step.over) let_go(frame.slots[slot]);
        }
    }

    // ---- values ------------------------------------------------------------------------------

    // Its sizes stay: others may be told them.
    void let_go(Value& value) {
        if (value.block != nullptr) {
            if (value.block.use_count() == 1) {
                keep_free(std::move(value.block));
            }
            value.block.reset();
        }
        value.owner.reset();
    }

    void keep_free(std::shared_ptr<ValueBlock> block) {
        use(*block, 0);
        if (context_.free_blocks.size() < max_free_blocks) {
            context_.free_blocks.push_back(std::move(block));
        }
    }

    std::shared_ptr<ValueBlock> take(std::int64_t bytes) {
        const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 64));
        auto& free = context_.free_blocks;
        for (std::size_t i = free.size(); i-- > 0;) {
            if (free[i]->bytes() < wanted || free[i]->bytes() >= 2 * wanted) continue;
            std::swap(free[i], free.back());
            std::shared_ptr<ValueBlock> block = std::move(free.back());
            free.pop_back();
            use(*block, bytes);
            return block;
        }
        auto block = std::make_shared<ValueBlock>(Pool::process().take(wanted), 0);
        use(*block, bytes);
        return block;
    }

    // Of a block that uses nothing yet, or less.
    void use(ValueBlock& block, std::int64_t bytes) {
        context_.held += bytes - block.used;
        block.used = bytes;
    }

    void share(Value& to, const Value& from) {
        let_go(to);
        to.data = from.data;
        to.dims.assign(from.dims.begin(), from.dims.end());
        to.block = from.block;
        to.owner = from.owner;
    }

    void give(Value& to, const Operand& operand, const Frame& frame) {
        const Value& from = frame.slots[operand.slot];
        if (operand.axis < 0) return share(to, from);
        tell(to, from.dims[static_cast<std::size_t>(operand.axis)]);
    }

    void tell(Value& to, std::int64_t size) {
        let_go(to);
        to.data = nowhere.data();
        to.dims.assign({size, 0});
    }

    // ---- the entry ---------------------------------------------------------------------------

    void take_inputs(Run& entry, Frame& frame) {
        const Program& program = *entry.specialization()->program;
        for (std::size_t i = 0; i < program.inputs().size(); ++i) {
            Value& value = frame.slots[i];
            const auto dims =
                entry.dims().subspan(program.dim_begin(i), program.inputs()[i].rank);
            value.data = const_cast<std::byte*>(entry.input(i));
            value.dims.assign(dims.begin(), dims.end());
        }
    }

    void tell_symbols(const Run& entry, Frame& frame) {
        const auto& symbols = entry.specialization()->symbols;
        const std::size_t first = entry.specialization()->program->inputs().size();
        for (std::size_t i = 0; i < symbols.size(); ++i) tell(frame.slots[first + i], symbols[i]);
    }

    // ---- programs ----------------------------------------------------------------------------

    void run(const RunProgram& work, const Slots& over, Frame& frame, std::uint32_t) {
        Run& run = context_.run_of(work.program);
        give_inputs(run, work, frame);
        try {
            run.find_again();
            run_program(run, &work, work.results, over, frame);
        } catch (const Stopped&) {
            throw;
        } catch (...) {
            const auto dims = run.dims();
            throw InProgram(work.program, {dims.begin(), dims.end()}, std::current_exception());
        }
    }

    static void give_inputs(Run& run, const RunProgram& work, const Frame& frame) {
        const Program& program = run.program();
        for (std::size_t i = 0; i < work.operands.size(); ++i) {
            const Operand operand = work.operands[i];
            const Value& value = frame.slots[operand.slot];
            std::int64_t* dims = run.dims().data() + program.dim_begin(i);
            if (operand.axis >= 0) {
                dims[0] = value.dims[static_cast<std::size_t>(operand.axis)];
                dims[1] = 0;
                run.set_input(i, nowhere.data());
                continue;
            }
            if (value.dims.size() != program.inputs()[i].rank) {
                throw ImpossibleSize("rank of operand " + std::to_string(i),
                                     std::ssize(value.dims));
            }
            std::ranges::copy(value.dims, dims);
            run.set_input(i, value.data);
        }
    }

    // `work` is null for the entry, whose inputs are the caller's.
    void run_program(Run& run, const RunProgram* work, const Slots& results, const Slots& over,
                     Frame& frame) {
        const std::int64_t held = limits_.held + context_.held;
        const std::int64_t there = bytes_there(run, work, over, frame);
        run.require_memory_within(limits_.memory_limit, held, there);
        try {
            place_outputs(run, work, results, over, frame);
            run.execute(stop_for(*run.specialization()));
        } catch (const std::bad_alloc&) {
            run.throw_lack_of_memory(held);
        }
    }

    Stop* stop_for(const Specialization& specialization) const {
        const bool is_long =
            specialization.cost == unknown_cost || specialization.cost >= long_program;
        return limits_.punctual || is_long ? limits_.stop : nullptr;
    }

    void place_outputs(Run& run, const RunProgram* work, const Slots& results, const Slots& over,
                       Frame& frame) {
        const Specialization& specialization = *run.specialization();
        const Program& program = *specialization.program;
        for (std::size_t i = 0; i < results.size(); ++i) {
            const Output& output = program.outputs()[i];
            const std::int64_t bytes = specialization.buffer_bytes[output.buffer];
            Value& value = frame.slots[results[i]];
            let_go(value);
            if (output.start) {
                continue_input(run, work, *output.start, over, bytes, value, frame);
            } else {
                value.block = take(bytes);
            }
            value.data = value.block->data();
            const auto dims = std::span(specialization.output_dims)
                                  .subspan(program.output_dim_begin(i), output.dims.size());
            value.dims.assign(dims.begin(), dims.end());
            run.set_output(i, value.data);
        }
    }

    // What outputs find in the memory of inputs that they go on with, and so need not have anew.
    static std::int64_t bytes_there(const Run& run, const RunProgram* work, const Slots& over,
                                    const Frame& frame) {
        const Specialization& specialization = *run.specialization();
        std::int64_t there = 0;
        for (const Output& output : specialization.program->outputs()) {
            if (!output.start) continue;
            const std::int64_t bytes = specialization.buffer_bytes[output.buffer];
            const Value& from = frame.slots[slot_of(work, *output.start)];
            if (has_room(from, slot_of(work, *output.start), over, bytes)) {
                there += std::min(from.block->used, bytes);
            }
        }
        return there;
    }

    static std::uint32_t slot_of(const RunProgram* work, std::uint32_t input) {
        return work != nullptr ? work->operands[input].slot : input;
    }

    // Whether a value can become one of so many bytes where it is: nobody else needs it.
    static bool has_room(const Value& from, std::uint32_t slot, const Slots& over,
                         std::int64_t bytes) {
        return from.block != nullptr && from.block.use_count() == 1 &&
               from.data == from.block->data() && std::ranges::find(over, slot) != over.end() &&
               from.block->bytes() >= static_cast<std::size_t>(bytes);
    }

    // An output that begins with an input: on its memory, if nobody else needs that and it has
    // room. Blocks are powers of two, so what grows by a little is copied seldom.
    void continue_input(Run& run, const RunProgram* work, std::uint32_t start, const Slots& over,
                        std::int64_t bytes, Value& value, Frame& frame) {
        const std::uint32_t slot = slot_of(work, start);
        const Value& from = frame.slots[slot];
        if (has_room(from, slot, over, bytes)) {
            value.block = from.block;
            use(*value.block, bytes);
            return;
        }
        const std::int64_t item_bytes = run.program().inputs()[start].type.bytes();
        const std::int64_t copied = bytes_of(from, item_bytes);
        if (copied > bytes) throw ImpossibleSize("bytes of an output that goes on", bytes);
        value.block = take(bytes);
        if (copied > 0) {
            std::memcpy(value.block->data(), from.data, static_cast<std::size_t>(copied));
        }
        run.set_input(start, value.block->data());
    }

    // ---- sizes that data decide --------------------------------------------------------------

    void run(const CutRows& work, const Slots&, Frame& frame, std::uint32_t) {
        const std::int64_t count = number_of(frame.slots[work.count]);
        for (std::size_t i = 0; i < work.values.size(); ++i) {
            const Value& whole = frame.slots[work.values[i]];
            const std::int64_t rows = whole.dims.at(0);
            if (count < 0 || count > rows) throw UnfitSize(work.number, count, rows);
            Value& cut = frame.slots[work.results[i]];
            share(cut, whole);
            cut.dims[0] = count;
        }
    }

    void run(const TellSize& work, const Slots&, Frame& frame, std::uint32_t) {
        const std::int64_t size = number_of(frame.slots[work.value]);
        if (size < 0) throw UnfitSize(work.number, size, std::nullopt);
        tell(frame.slots[work.result], size);
    }

    void run(const TakeShape& work, const Slots&, Frame& frame, std::uint32_t) {
        Value& result = frame.slots[work.result];
        share(result, frame.slots[work.value]);
        take_shape(result, frame.slots[work.shape]);
    }

    static void take_shape(Value& value, const Value& shape) {
        value.dims.assign(shape.dims.begin(), shape.dims.end() - 1);
    }

    // ---- regions -----------------------------------------------------------------------------

    void enter(const RegionCall& call, const Frame& frame, std::size_t first = 0) {
        Frame& inner = context_.frames[call.region];
        for (std::size_t i = first; i < call.operands.size(); ++i) {
            give(inner.slots[i], call.operands[i], frame);
        }
    }

    // Nobody reads these behind a region that has entered: it may write over them, and go on.
    void hand_over(const Slots& over, Frame& frame) {
        for (const std::uint32_t slot : over) let_go(frame.slots[slot]);
    }

    // Constants stay where they are.
    void leave(std::uint32_t number, std::size_t first = 0) {
        const CourseRegion& region = course_.regions[number];
        Frame& inner = context_.frames[number];
        for (std::size_t i = first; i < region.params; ++i) let_go(inner.slots[i]);
        for (const std::uint32_t slot : region.results) let_go(inner.slots[slot]);
    }

    void run(const Branch& work, const Slots& over, Frame& frame, std::uint32_t) {
        const RegionCall& chosen =
            truth_of(frame.slots[work.predicate]) ? work.then : work.otherwise;
        enter(chosen, frame);
        hand_over(over, frame);
        walk(chosen.region);
        const Frame& inner = context_.frames[chosen.region];
        const Slots& given = course_.regions[chosen.region].results;
        for (std::size_t i = 0; i < work.results.size(); ++i) {
            share(frame.slots[work.results[i]], inner.slots[given[i]]);
        }
        leave(chosen.region);
    }

    void run(const Loop& work, const Slots& over, Frame& frame, std::uint32_t) {
        Frame& body = context_.frames[work.body.region];
        enter(work.condition, frame, work.carried);
        enter(work.body, frame);
        hand_over(over, frame);
        while (holds(work, body)) {
            walk(work.body.region);
            carry(work.body.region, work.carried);
        }
        for (std::size_t i = 0; i < work.carried; ++i) {
            share(frame.slots[work.results[i]], body.slots[i]);
        }
        leave(work.condition.region);
        leave(work.body.region);
    }

    bool holds(const Loop& work, const Frame& body) {
        if (limits_.stop != nullptr) limits_.stop->check();
        Frame& inner = context_.frames[work.condition.region];
        for (std::size_t i = 0; i < work.carried; ++i) share(inner.slots[i], body.slots[i]);
        walk(work.condition.region);
        const std::uint32_t result = course_.regions[work.condition.region].results[0];
        const bool holds = truth_of(inner.slots[result]);
        if (result >= course_.regions[work.condition.region].params) let_go(inner.slots[result]);
        for (std::size_t i = 0; i < work.carried; ++i) let_go(inner.slots[i]);
        return holds;
    }

    // The first results become the first parameters of the next iteration.
    void carry(std::uint32_t number, std::size_t carried) {
        const CourseRegion& region = course_.regions[number];
        Frame& frame = context_.frames[number];
        frame.next.resize(std::max(frame.next.size(), carried));
        for (std::size_t i = 0; i < carried; ++i) {
            share(frame.next[i], frame.slots[region.results[i]]);
        }
        for (const std::uint32_t slot : region.results) {
            if (slot >= region.params) let_go(frame.slots[slot]);
        }
        for (std::size_t i = 0; i < carried; ++i) {
            let_go(frame.slots[i]);
            std::swap(frame.slots[i], frame.next[i]);
        }
    }

    void run(const LoopOverRows& work, const Slots&, Frame& frame, std::uint32_t number) {
        const std::int64_t length = frame.slots[work.length].dims[0];
        stack(work, frame, number);
        Frame& body = context_.frames[work.body.region];
        enter(work.body, frame);
        for (std::int64_t step = 0; step < length; ++step) {
            if (limits_.stop != nullptr) limits_.stop->check();
            const std::int64_t row = work.reverse ? length - 1 - step : step;
            for (std::size_t i = work.carried; i < work.carried + work.scanned; ++i) {
                take_row(body.slots[i], work.body.operands[i].slot, row, frame, number);
            }
            walk(work.body.region);
            for (std::size_t i = work.carried; i < work.results.size(); ++i) {
                stack_row(work, i, row, frame, number);
            }
            carry(work.body.region, work.carried);
        }
        for (std::size_t i = 0; i < work.carried; ++i) {
            share(frame.slots[work.results[i]], body.slots[i]);
        }
        leave(work.body.region);
    }

    void take_row(Value& to, std::uint32_t slot, std::int64_t row, const Frame& frame,
                  std::uint32_t number) {
        const Value& rows = frame.slots[slot];
        share(to, rows);
        to.data += row * row_bytes(rows, course_.regions[number].item_bytes[slot]);
        to.dims.erase(to.dims.begin());
    }

    // Memory for all rows that the body will give.
    void stack(const LoopOverRows& work, Frame& frame, std::uint32_t number) {
        for (std::size_t i = 0; i < work.shapes.size(); ++i) {
            const std::uint32_t slot = work.results[work.carried + i];
            Value& rows = frame.slots[slot];
            let_go(rows);
            take_shape(rows, frame.slots[work.shapes[i]]);
            rows.block = take_for(work, bytes_of_shape(rows, course_.regions[number].item_bytes[slot]));
            rows.data = rows.block->data();
        }
    }

    std::shared_ptr<ValueBlock> take_for(const LoopOverRows& work, std::int64_t bytes) {
        const std::int64_t held = limits_.held + context_.held;
        Run& told = context_.run_of(work.told_by);
        const auto fail = [&](const auto& failure) {
            const auto dims = told.dims();
            throw InProgram(work.told_by, {dims.begin(), dims.end()},
                            std::make_exception_ptr(failure));
        };
        const auto& symbols = told.specialization()->symbols;
        const NeededBytes needed{0, bytes, held};
        if (held > limits_.memory_limit || bytes > limits_.memory_limit - held) {
            fail(MemoryLimitExceeded(needed, limits_.memory_limit, symbols));
        }
        try {
            return take(bytes);
        } catch (const NotAvailable& lack) {
            fail(MemoryUnavailable(needed, lack.available, symbols));
            throw;
        }
    }

    void stack_row(const LoopOverRows& work, std::size_t index, std::int64_t row, Frame& frame,
                   std::uint32_t number) {
        const std::uint32_t slot = work.results[index];
        const Value& rows = frame.slots[slot];
        const std::uint32_t given = course_.regions[work.body.region].results[index];
        const std::int64_t bytes = row_bytes(rows, course_.regions[number].item_bytes[slot]);
        if (bytes > 0) {
            std::memcpy(rows.data + row * bytes,
                        context_.frames[work.body.region].slots[given].data,
                        static_cast<std::size_t>(bytes));
        }
    }

    // ---- the host ----------------------------------------------------------------------------

    void run(const CallHost& work, const Slots&, Frame& frame, std::uint32_t) {
        if (limits_.stop != nullptr) limits_.stop->check();
        std::vector<const Value*> operands;
        for (const std::uint32_t slot : work.operands) operands.push_back(&frame.slots[slot]);
        std::vector<std::int64_t> sizes;
        for (const Operand& operand : work.sizes) {
            sizes.push_back(
                frame.slots[operand.slot].dims[static_cast<std::size_t>(operand.axis)]);
        }
        std::vector<Value> results(work.results.size());
        HostCall call{work, operands, sizes, results};
        limits_.host(limits_.what, call);
        for (std::size_t i = 0; i < results.size(); ++i) {
            let_go(frame.slots[work.results[i]]);
            frame.slots[work.results[i]] = std::move(results[i]);
        }
    }

    const CourseDescription& course_;
    CourseContext& context_;
    const CourseLimits& limits_;
};

void place_constants(const CourseRegion& region, Frame& frame) {
    for (const CourseConstant& constant : region.constants) {
        Value& value = frame.slots[constant.slot];
        value.data = reinterpret_cast<std::byte*>(constant.address);
        value.dims = constant.dims;
    }
}

std::vector<ProgramForm> forms_of(std::span<Runner* const> runners) {
    std::vector<ProgramForm> forms;
    for (const Runner* runner : runners) {
        const Program& program = runner->program();
        forms.push_back({program.inputs().size(), program.outputs().size(),
                         program.description().symbols});
    }
    return forms;
}

}  // namespace

CourseContext::CourseContext(const CourseDescription& course, std::span<Runner* const> runners)
    : frames(course.regions.size()), runs(runners.size()), runners_(runners) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
        frames[i].slots.resize(course.regions[i].slots);
        place_constants(course.regions[i], frames[i]);
    }
}

Run& CourseContext::run_of(std::uint32_t program) {
    std::optional<Run>& run = runs[program];
    return run ? *run : run.emplace(*runners_[program], &arena);
}

// ---- Course ------------------------------------------------------------------------------------

Course::Course(CourseDescription description, std::vector<Runner*> runners)
    : description_(std::move(description)), runners_(std::move(runners)) {
    validate(description_, forms_of(runners_));
    idle_.reserve(max_idle_contexts);
}

std::unique_ptr<CourseContext> Course::borrow() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            std::unique_ptr<CourseContext> context = std::move(idle_.back());
            idle_.pop_back();
            return context;
        }
    }
    return std::make_unique<CourseContext>(description_, runners_);
}

void Course::give_back(std::unique_ptr<CourseContext> context) noexcept {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < max_idle_contexts) idle_.push_back(std::move(context));
}

std::size_t Course::idle_arena_bytes() const {
    const std::lock_guard lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& context : idle_) bytes += context->arena.bytes();
    return bytes;
}

void Course::reserve(std::size_t bytes) {
    std::unique_ptr<CourseContext> context = borrow();
    try {
        context->arena.reserve(bytes);
    } catch (...) {
        give_back(std::move(context));
        throw;
    }
    give_back(std::move(context));
}

void Course::trim() {
    std::vector<std::unique_ptr<CourseContext>> idle;  // freed after the lock
    const std::lock_guard lock(mutex_);
    idle.swap(idle_);
    idle_.reserve(max_idle_contexts);
}

// ---- CourseRun ---------------------------------------------------------------------------------

// Whatever happened: values, blocks and contexts of programs go back, constants stay.
CourseRun::~CourseRun() {
    CourseContext& context = *context_;
    for (Frame& frame : context.frames) {
        for (auto* values : {&frame.slots, &frame.next}) {
            for (Value& value : *values) {
                value.block.reset();
                value.owner.reset();
            }
        }
    }
    context.free_blocks.clear();
    context.held = 0;
    for (std::optional<Run>& run : context.runs) run.reset();
    course_.give_back(std::move(context_));
}

void CourseRun::execute(const CourseLimits& limits) {
    Walker(course_.description(), *context_, limits).walk_graph();
}

Value& CourseRun::result(std::size_t number) {
    return context_->frames[0].slots[course_.description().results[number]];
}

}  // namespace anyshape
