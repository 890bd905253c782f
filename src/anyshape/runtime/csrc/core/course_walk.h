// Walks through a course: from step to step, into regions and out of them, as course.h has it. What
// values lie in is course_memory.h's.
//
// Ownership, thread-safety and failure: those of the CourseRun whose context it is.
#pragma once

#include "core/course.h"

namespace anyshape {

// The entry's run is prepared, and has its inputs.
void walk_course(const CourseDescription& course, CourseContext& context,
                 const CourseLimits& limits);

}  // namespace anyshape
