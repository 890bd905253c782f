// What Python hands to the runtime as frozen values, read by attribute: descriptions of programs
// (anyshape/program) and options (anyshape/runtime/options.py). Binding layer.
//
// nanobind's own conversions to vectors and strings end the process when memory runs out, because
// they may not throw. So containers are read here, element by element.
//
// Thread-safety: needs the GIL.
// Failure: std::bad_alloc; MalformedProgram for what has another form, with the way to it
// (`steps[1].block[0].index`). Whether the parts fit together is checked by validate.h.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "core/program.h"
#include "core/run_options.h"

namespace anyshape {

// A description, and the NumPy types of its inputs and outputs.
struct ReadDescription {
    ProgramDescription program;
    std::vector<nanobind::object> input_dtypes;
    std::vector<nanobind::object> output_dtypes;
};

ReadDescription read_description(nanobind::handle description);
RunOptions read_run_options(nanobind::handle options);

// A number of bytes, or `otherwise` for None. More than any machine has is no limit.
std::int64_t read_memory_limit(nanobind::handle limit, std::int64_t otherwise);

std::vector<std::int64_t> read_numbers(nanobind::handle list);

}  // namespace anyshape
