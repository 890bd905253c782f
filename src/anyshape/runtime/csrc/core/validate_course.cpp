#include <string>

#include "core/course_description.h"
#include "core/failures.h"

namespace anyshape {
namespace {

class CourseValidator {
   public:
    CourseValidator(const CourseDescription& course, std::span<const ProgramForm> programs)
        : course_(course), programs_(programs) {}

    void check() {
        require(!course_.regions.empty(), "there is no region");
        require(!programs_.empty(), "there is no entry");
        for (number_ = 0; number_ < course_.regions.size(); ++number_) check_region();
        number_ = 0;
        const ProgramForm& entry = programs_[0];
        require(region().params == entry.inputs + entry.symbols,
                "the graph takes other parameters than its entry tells");
        require(course_.entered.size() == entry.outputs, "the entry gives other results");
        slots(course_.entered);
        slots(course_.results);
    }

   private:
    const CourseRegion& region() const { return course_.regions[number_]; }

    void require(bool holds, const std::string& problem) const {
        if (!holds) {
            throw MalformedProgram("region " + std::to_string(number_) + ": " + problem);
        }
    }

    void slot(std::uint32_t slot) const { require(slot < region().slots, "no such slot"); }

    void slots(const Slots& slots) const {
        for (const std::uint32_t number : slots) slot(number);
    }

    void operands(const std::vector<Operand>& operands) const {
        for (const Operand& operand : operands) slot(operand.slot);
    }

    void check_region() {
        require(region().params <= region().slots, "more parameters than slots");
        require(region().item_bytes.size() == region().slots, "sizes of elements are missing");
        for (const CourseConstant& constant : region().constants) {
            slot(constant.slot);
            require(constant.address != 0, "a constant has no address");
        }
        slots(region().results);
        for (const CourseStep& step : region().steps) {
            slots(step.over);
            std::visit([this](const auto& work) { check(work); }, step.work);
        }
    }

    // A region is called by an earlier one, so that none is inside itself.
    void call(const RegionCall& call) const {
        require(call.region > number_ && call.region < course_.regions.size(), "no such region");
        require(call.operands.size() == course_.regions[call.region].params,
                "a region is given another number of operands");
        operands(call.operands);
    }

    std::size_t results_of(const RegionCall& call) const {
        return course_.regions[call.region].results.size();
    }

    void check(const RunProgram& work) const {
        require(work.program < programs_.size(), "no such program");
        require(work.operands.size() == programs_[work.program].inputs, "a program takes others");
        require(work.results.size() == programs_[work.program].outputs, "a program gives others");
        operands(work.operands);
        slots(work.results);
    }

    void check(const CutRows& work) const {
        slot(work.count);
        slots(work.values);
        slots(work.results);
        require(work.values.size() == work.results.size(), "rows of other values are cut");
    }

    void check(const TellSize& work) const {
        slot(work.value);
        slot(work.result);
    }

    void check(const TakeShape& work) const {
        slot(work.value);
        slot(work.shape);
        slot(work.result);
    }

    void check(const Branch& work) const {
        slot(work.predicate);
        slots(work.results);
        for (const RegionCall* branch : {&work.then, &work.otherwise}) {
            call(*branch);
            require(results_of(*branch) == work.results.size(), "a branch gives others");
        }
    }

    void check(const Loop& work) const {
        call(work.condition);
        call(work.body);
        slots(work.results);
        require(results_of(work.condition) == 1, "a condition is one truth");
        require(results_of(work.body) == work.carried && work.results.size() == work.carried,
                "a loop carries others");
        require(work.carried <= work.body.operands.size() &&
                    work.carried <= work.condition.operands.size(),
                "a loop carries more than it is given");
    }

    void check(const LoopOverRows& work) const {
        call(work.body);
        slot(work.length);
        slots(work.shapes);
        slots(work.results);
        require(work.told_by < programs_.size(), "no such program");
        const std::size_t taken = std::size_t{work.carried} + work.scanned;
        require(taken <= work.body.operands.size(), "a loop takes more than it is given");
        require(work.results.size() == work.carried + work.shapes.size() &&
                    results_of(work.body) == work.results.size(),
                "a loop carries others");
    }

    void check(const CallHost& work) const {
        slots(work.operands);
        slots(work.results);
        operands(work.sizes);
        for (const Operand& size : work.sizes) require(size.axis >= 0, "a size has no axis");
    }

    const CourseDescription& course_;
    const std::span<const ProgramForm> programs_;
    std::size_t number_ = 0;
};

}  // namespace

void validate(const CourseDescription& course, std::span<const ProgramForm> programs) {
    CourseValidator(course, programs).check();
}

}  // namespace anyshape
