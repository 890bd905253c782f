// Courses for Python. Binding layer.
#pragma once

#include <nanobind/nanobind.h>

namespace anyshape {

void bind_course(nanobind::module_& module);

}  // namespace anyshape
