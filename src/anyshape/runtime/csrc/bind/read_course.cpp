#include "bind/read_course.h"

#include <cstdint>

#include "bind/read_values.h"

namespace nb = nanobind;

namespace anyshape {
namespace {

using namespace reading;

Operand read_operand(nb::handle operand) {
    return {.slot = field<"slot">(operand, index),
            .axis = field<"axis">(operand, number<std::int32_t>)};
}

constexpr auto operands = [](nb::handle tuple) { return tuple_of(read_operand)(tuple); };

RegionCall read_call(nb::handle call) {
    return {.region = field<"region">(call, index), .operands = field<"operands">(call, operands)};
}

CourseConstant read_constant(nb::handle constant) {
    return {.slot = field<"slot">(constant, index),
            .address = field<"address">(constant, number<std::uintptr_t>),
            .dims = field<"dims">(constant, tuple_of(number<std::int64_t>))};
}

nb::object borrowed(nb::handle value) { return nb::borrow(value); }

// Knows the classes of anyshape/program/course.py, by which steps are told apart.
class CourseReader {
   public:
    ReadCourse read(nb::handle description) {
        const auto region = [this](nb::handle value) { return read_region(value); };
        result_.course = {.regions = field<"regions">(description, tuple_of(region)),
                          .entered = field<"entered">(description, indices),
                          .results = field<"results">(description, indices)};
        result_.result_dtypes = field<"dtypes">(description, tuple_of(borrowed));
        return std::move(result_);
    }

   private:
    static nb::object step_class(const char* name) {
        return nb::module_::import_("anyshape.program").attr(name);
    }

    CourseRegion read_region(nb::handle region) {
        const auto step = [this](nb::handle value) {
            return CourseStep{.work = read_work(value), .over = field<"over">(value, indices)};
        };
        return {.params = field<"params">(region, index),
                .slots = field<"slots">(region, index),
                .item_bytes = field<"item_bytes">(region, indices),
                .constants = field<"constants">(region, tuple_of(read_constant)),
                .steps = field<"steps">(region, tuple_of(step)),
                .results = field<"results">(region, indices)};
    }

    CourseWork read_work(nb::handle step) {
        const nb::handle type = step.type();
        if (type.is(run_program_)) {
            return RunProgram{.program = field<"program">(step, index),
                              .operands = field<"operands">(step, operands),
                              .results = field<"results">(step, indices)};
        }
        if (type.is(cut_rows_)) {
            return CutRows{.count = field<"count">(step, index),
                           .values = field<"values">(step, indices),
                           .results = field<"results">(step, indices),
                           .number = field<"number">(step, index)};
        }
        if (type.is(tell_size_)) {
            return TellSize{.value = field<"value">(step, index),
                            .result = field<"result">(step, index),
                            .number = field<"number">(step, index)};
        }
        if (type.is(take_shape_)) {
            return TakeShape{.value = field<"value">(step, index),
                             .shape = field<"shape">(step, index),
                             .result = field<"result">(step, index)};
        }
        if (type.is(call_host_)) return read_host(step);
        return read_control(step);
    }

    CourseWork read_control(nb::handle step) const {
        const nb::handle type = step.type();
        if (type.is(branch_)) {
            return Branch{.predicate = field<"predicate">(step, index),
                          .then = field<"then">(step, read_call),
                          .otherwise = field<"otherwise">(step, read_call),
                          .results = field<"results">(step, indices)};
        }
        if (type.is(loop_)) {
            return Loop{.condition = field<"condition">(step, read_call),
                        .body = field<"body">(step, read_call),
                        .carried = field<"carried">(step, index),
                        .results = field<"results">(step, indices)};
        }
        if (type.is(loop_over_rows_)) {
            return LoopOverRows{.body = field<"body">(step, read_call),
                                .carried = field<"carried">(step, index),
                                .scanned = field<"scanned">(step, index),
                                .length = field<"length">(step, index),
                                .shapes = field<"shapes">(step, indices),
                                .told_by = field<"told_by">(step, index),
                                .reverse = field<"reverse">(step, truth),
                                .results = field<"results">(step, indices)};
        }
        throw_expected("a step of a course", step);
    }

    CallHost read_host(nb::handle step) {
        CallHost host{.number = field<"number">(step, index),
                      .operands = field<"operands">(step, indices),
                      .sizes = field<"sizes">(step, operands),
                      .results = field<"results">(step, indices)};
        if (host.number >= result_.host_dtypes.size()) {
            result_.host_dtypes.resize(host.number + std::size_t{1});
        }
        result_.host_dtypes[host.number] = field<"dtypes">(step, tuple_of(borrowed));
        return host;
    }

    ReadCourse result_;
    const nb::object run_program_ = step_class("RunProgram");
    const nb::object cut_rows_ = step_class("CutRows");
    const nb::object tell_size_ = step_class("TellSize");
    const nb::object take_shape_ = step_class("TakeShape");
    const nb::object branch_ = step_class("Branch");
    const nb::object loop_ = step_class("Loop");
    const nb::object loop_over_rows_ = step_class("LoopOverRows");
    const nb::object call_host_ = step_class("CallHost");
};

}  // namespace

ReadCourse read_course(nb::handle description) {
    try {
        return CourseReader().read(description);
    } catch (const Misread& misread) {
        misread.raise();
    }
}

}  // namespace anyshape
