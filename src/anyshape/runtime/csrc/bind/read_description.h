// The description of a program, read from Python's tuples of numbers. Binding layer.
//
// nanobind's own conversions to vectors and strings end the process when memory runs out, because
// they may not throw. So containers are read here, element by element.
//
// Thread-safety: needs the GIL.
// Failure: std::bad_alloc, nb::cast_error.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "core/program.h"

namespace anyshape {

// A list of what `read` makes of each element.
template <typename Result>
std::vector<Result> read_list(nanobind::handle list, Result (*read)(nanobind::handle)) {
    std::vector<Result> results;
    results.reserve(nanobind::len(list));
    for (const nanobind::handle element : list) results.push_back(read(element));
    return results;
}

std::vector<std::int64_t> read_numbers(nanobind::handle list);

// See _native.pyi for the order of the fields.
Input read_input(nanobind::handle input);
Output read_output(nanobind::handle output);
Buffer read_buffer(nanobind::handle buffer);
Step read_step(nanobind::handle step);

}  // namespace anyshape
