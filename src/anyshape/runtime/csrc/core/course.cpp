#include "core/course.h"

#include <utility>

#include "core/course_walk.h"

namespace anyshape {
namespace {

using Frame = CourseContext::Frame;

constexpr std::size_t max_idle_contexts = 16;

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
    context.memory.clear();
    for (std::optional<Run>& run : context.runs) run.reset();
    course_.give_back(std::move(context_));
}

void CourseRun::execute(const CourseLimits& limits) {
    walk_course(course_.description(), *context_, limits);
}

Value& CourseRun::result(std::size_t number) {
    return context_->frames[0].slots[course_.description().results[number]];
}

}  // namespace anyshape
