// Descriptions of courses (anyshape/program/course.py), read by attribute. Binding layer.
//
// Thread-safety: needs the GIL.
// Failure: as read_description.h.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "core/course_description.h"

namespace anyshape {

// A description, and the NumPy types of what callers and the host see.
struct ReadCourse {
    CourseDescription course;
    std::vector<nanobind::object> result_dtypes;
    std::vector<std::vector<nanobind::object>> host_dtypes;  // by number of the host's function
};

ReadCourse read_course(nanobind::handle description);

}  // namespace anyshape
