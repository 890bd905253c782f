#include "core/course_walk.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/available_memory.h"
#include "core/failures.h"

namespace anyshape {
namespace {

using Frame = CourseContext::Frame;

// Programs that take longer look for interrupts themselves.
constexpr std::int64_t long_program = 1'000'000'000;  // picoseconds

constexpr std::int64_t most_shared = std::numeric_limits<std::int64_t>::max();

bool truth_of(const Value& value) { return *value.data != std::byte{0}; }

std::int64_t number_of(const Value& value) {
    std::int64_t number = 0;
    std::memcpy(&number, value.data, sizeof(number));
    return number;
}

// The parts of one run.
class Walker {
   public:
    Walker(const CourseDescription& course, CourseContext& context, const CourseLimits& limits)
        : course_(course), context_(context), memory_(context.memory), limits_(limits) {}

    void walk_graph() {
        Frame& frame = context_.frames[0];
        Run& entry = context_.run_of(0);
        take_inputs(entry, frame);
        run_program({entry, nullptr, course_.entered, Slots{}, frame.slots});
        tell_symbols(entry, frame);
        walk(0);
        if (limits_.stop != nullptr) limits_.stop->check_at_end();
    }

   private:
    void walk(std::uint32_t number) {
        Frame& frame = context_.frames[number];
        for (const CourseStep& step : course_.regions[number].steps) {
            std::visit([&](const auto& work) { run(work, step.over, frame, number); }, step.work);
            for (const std::uint32_t slot : step.over) memory_.let_go(frame.slots[slot]);
        }
    }

    // ---- values ------------------------------------------------------------------------------

    void give(Value& to, const Operand& operand, const Frame& frame) {
        const Value& from = frame.slots[operand.slot];
        if (operand.axis < 0) return memory_.share(to, from);
        memory_.tell(to, from.dims[static_cast<std::size_t>(operand.axis)]);
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
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            memory_.tell(frame.slots[first + i], symbols[i]);
        }
    }

    // ---- programs ----------------------------------------------------------------------------

    void run(const RunProgram& work, const Slots& over, Frame& frame, std::uint32_t) {
        Run& run = context_.run_of(work.program);
        give_inputs(run, work, frame);
        try {
            run.find_again();
            run_program({run, &work, work.results, over, frame.slots});
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

    void run_program(const ProgramStep& step) {
        Run& run = step.run;
        const std::int64_t held = limits_.held + memory_.held();
        run.require_memory_within(limits_.memory_limit, held, CourseMemory::bytes_there(step));
        try {
            memory_.place_outputs(step);
            const Specialization& specialization = *run.specialization();
            run.execute(stop_for(specialization), shared_);
            shared_ += std::min(specialization.shared_cost, most_shared - shared_);
        } catch (const std::bad_alloc&) {
            run.throw_lack_of_memory(held);
        }
    }

    Stop* stop_for(const Specialization& specialization) const {
        const bool is_long =
            specialization.cost == unknown_cost || specialization.cost >= long_program;
        return limits_.punctual || is_long ? limits_.stop : nullptr;
    }

    // ---- sizes that data decide --------------------------------------------------------------

    void run(const CutRows& work, const Slots&, Frame& frame, std::uint32_t) {
        const std::int64_t count = number_of(frame.slots[work.count]);
        for (std::size_t i = 0; i < work.values.size(); ++i) {
            const Value& whole = frame.slots[work.values[i]];
            const std::int64_t rows = whole.dims.at(0);
            if (count < 0 || count > rows) throw UnfitSize(work.number, count, rows);
            Value& cut = frame.slots[work.results[i]];
            memory_.share(cut, whole);
            cut.dims[0] = count;
        }
    }

    void run(const TellSize& work, const Slots&, Frame& frame, std::uint32_t) {
        const std::int64_t size = number_of(frame.slots[work.value]);
        if (size < 0) throw UnfitSize(work.number, size, std::nullopt);
        memory_.tell(frame.slots[work.result], size);
    }

    void run(const TakeShape& work, const Slots&, Frame& frame, std::uint32_t) {
        Value& result = frame.slots[work.result];
        memory_.share(result, frame.slots[work.value]);
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
        for (const std::uint32_t slot : over) memory_.let_go(frame.slots[slot]);
    }

    // Constants stay where they are.
    void leave(std::uint32_t number, std::size_t first = 0) {
        const CourseRegion& region = course_.regions[number];
        Frame& inner = context_.frames[number];
        for (std::size_t i = first; i < region.params; ++i) memory_.let_go(inner.slots[i]);
        for (const std::uint32_t slot : region.results) memory_.let_go(inner.slots[slot]);
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
            memory_.share(frame.slots[work.results[i]], inner.slots[given[i]]);
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
            memory_.share(frame.slots[work.results[i]], body.slots[i]);
        }
        leave(work.condition.region);
        leave(work.body.region);
    }

    bool holds(const Loop& work, const Frame& body) {
        if (limits_.stop != nullptr) limits_.stop->check();
        Frame& inner = context_.frames[work.condition.region];
        for (std::size_t i = 0; i < work.carried; ++i) memory_.share(inner.slots[i], body.slots[i]);
        walk(work.condition.region);
        const CourseRegion& region = course_.regions[work.condition.region];
        const std::uint32_t result = region.results[0];
        const bool holds = truth_of(inner.slots[result]);
        if (result >= region.params) memory_.let_go(inner.slots[result]);
        for (std::size_t i = 0; i < work.carried; ++i) memory_.let_go(inner.slots[i]);
        return holds;
    }

    // The first results become the first parameters of the next iteration.
    void carry(std::uint32_t number, std::size_t carried) {
        const CourseRegion& region = course_.regions[number];
        Frame& frame = context_.frames[number];
        frame.next.resize(std::max(frame.next.size(), carried));
        for (std::size_t i = 0; i < carried; ++i) {
            memory_.share(frame.next[i], frame.slots[region.results[i]]);
        }
        for (const std::uint32_t slot : region.results) {
            if (slot >= region.params) memory_.let_go(frame.slots[slot]);
        }
        for (std::size_t i = 0; i < carried; ++i) {
            memory_.let_go(frame.slots[i]);
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
            memory_.share(frame.slots[work.results[i]], body.slots[i]);
        }
        leave(work.body.region);
    }

    void take_row(Value& to, std::uint32_t slot, std::int64_t row, const Frame& frame,
                  std::uint32_t number) {
        const Value& rows = frame.slots[slot];
        memory_.share(to, rows);
        to.data += row * row_bytes(rows, course_.regions[number].item_bytes[slot]);
        to.dims.erase(to.dims.begin());
    }

    // Memory for all rows that the body will give.
    void stack(const LoopOverRows& work, Frame& frame, std::uint32_t number) {
        for (std::size_t i = 0; i < work.shapes.size(); ++i) {
            const std::uint32_t slot = work.results[work.carried + i];
            Value& rows = frame.slots[slot];
            memory_.let_go(rows);
            take_shape(rows, frame.slots[work.shapes[i]]);
            const std::uint32_t item_bytes = course_.regions[number].item_bytes[slot];
            rows.block = take_for(work, bytes_of_shape(rows, item_bytes));
            rows.data = rows.block->data();
        }
    }

    std::shared_ptr<ValueBlock> take_for(const LoopOverRows& work, std::int64_t bytes) {
        const std::int64_t held = limits_.held + memory_.held();
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
            return memory_.take(bytes);
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
            memory_.let_go(frame.slots[work.results[i]]);
            frame.slots[work.results[i]] = std::move(results[i]);
        }
    }

    const CourseDescription& course_;
    CourseContext& context_;
    CourseMemory& memory_;
    const CourseLimits& limits_;
    std::int64_t shared_ = 0;  // picoseconds that programs had to share so far
};

}  // namespace

void walk_course(const CourseDescription& course, CourseContext& context,
                 const CourseLimits& limits) {
    Walker(course, context, limits).walk_graph();
}

}  // namespace anyshape
