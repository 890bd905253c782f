// A course as data: several programs, and what happens between them. The types are those of
// anyshape/program/course.py, field by field, where each is explained; bind/read_course.h reads
// them.
//
// Ownership and thread-safety: plain values.
// Failure: validate() throws MalformedProgram, so that a run can index without looking.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace anyshape {

using Slots = std::vector<std::uint32_t>;

struct Operand {
    std::uint32_t slot = 0;
    std::int32_t axis = -1;  // below 0: the value itself
};

struct RegionCall {
    std::uint32_t region = 0;
    std::vector<Operand> operands;
};

struct RunProgram {
    std::uint32_t program = 0;
    std::vector<Operand> operands;
    Slots results;
};

struct CutRows {
    std::uint32_t count = 0;
    Slots values;
    Slots results;
    std::uint32_t number = 0;
};

struct TellSize {
    std::uint32_t value = 0;
    std::uint32_t result = 0;
    std::uint32_t number = 0;
};

struct TakeShape {
    std::uint32_t value = 0;
    std::uint32_t shape = 0;
    std::uint32_t result = 0;
};

struct Branch {
    std::uint32_t predicate = 0;
    RegionCall then;
    RegionCall otherwise;
    Slots results;
};

struct Loop {
    RegionCall condition;
    RegionCall body;
    std::uint32_t carried = 0;
    Slots results;
};

struct LoopOverRows {
    RegionCall body;
    std::uint32_t carried = 0;
    std::uint32_t scanned = 0;
    std::uint32_t length = 0;
    Slots shapes;
    std::uint32_t told_by = 0;
    bool reverse = false;
    Slots results;
};

struct CallHost {
    std::uint32_t number = 0;
    Slots operands;
    std::vector<Operand> sizes;
    Slots results;
};

using CourseWork =
    std::variant<RunProgram, CutRows, TellSize, TakeShape, Branch, Loop, LoopOverRows, CallHost>;

struct CourseStep {
    CourseWork work;
    Slots over;
};

struct CourseConstant {
    std::uint32_t slot = 0;
    std::uintptr_t address = 0;
    std::vector<std::int64_t> dims;
};

struct CourseRegion {
    std::uint32_t params = 0;
    std::uint32_t slots = 0;
    std::vector<std::uint32_t> item_bytes;
    std::vector<CourseConstant> constants;
    std::vector<CourseStep> steps;
    Slots results;
};

struct CourseDescription {
    std::vector<CourseRegion> regions;
    Slots entered;
    Slots results;
};

// What a program takes and gives, and how many symbols it solves.
struct ProgramForm {
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    std::size_t symbols = 0;
};

void validate(const CourseDescription& course, std::span<const ProgramForm> programs);

}  // namespace anyshape
