// Programs as Python sees them. Binding layer.
#pragma once

#include <nanobind/nanobind.h>

namespace anyshape {

void bind_program(nanobind::module_& module);

}  // namespace anyshape
