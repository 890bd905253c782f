// Where the results of one call go. Binding layer.
//
//   new        an array on memory of the pool
//   given      an array of the caller's, if kernels can write it as it is
//   taken over the memory of a donated input, which the result replaces
//   continued  the block of a donated input, which the result goes on behind
//
// A given array that kernels cannot write (it has gaps, or lies where an input does) is left alone:
// the result is a new array, and the caller sees from that what is still to be copied.
//
// Ownership: Results hold the arrays until they hand them out; given ones must outlive them.
// Thread-safety: needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <vector>

#include "bind/arguments.h"
#include "bind/outputs.h"
#include "core/program.h"
#include "core/runner.h"

namespace anyshape {

// Whether memory of donated inputs may be written.
enum class Donated : std::uint8_t { kept, given_up };

class Results {
   public:
    // After run.prepare(). `dtypes` are NumPy's, one per output; `given` is None, or a sequence of
    // an array or None for each output. Checks what is given, and takes no memory.
    Results(Run& run, Arguments& arguments, std::span<const nanobind::object> dtypes,
            nanobind::handle given, Donated donated);

    // Of the outputs that are written into given arrays.
    std::int64_t given_bytes() const noexcept;

    // Finds memory for all outputs and tells the run. Inputs that they begin with are copied there
    // when `arguments` are.
    nanobind::tuple attach();

   private:
    struct Placed {
        nanobind::object array;
        std::byte* data = nullptr;
    };

    void accept(std::size_t output, nanobind::handle array);
    bool is_writeable_as_it_is(std::size_t output, nanobind::handle array) const;
    bool is_clear_of_inputs(const ByteRange& range, std::size_t except) const;
    Placed place(std::size_t output);
    Placed place_from(std::size_t output, std::size_t input);
    Placed taken_over(std::size_t output, std::size_t input) const;
    ArrayForm form(std::size_t output) const;

    Run& run_;
    Arguments& arguments_;
    const Program& program_;
    const Specialization& specialization_;
    const std::span<const nanobind::object> dtypes_;
    const Donated donated_;
    std::vector<nanobind::object> given_;  // empty, or by output; not valid where none is used
};

}  // namespace anyshape
