// NumPy arrays, and whatever speaks DLPack, in and out. Binding layer: knows Python and NumPy.
//
// NumPy's own structures are read directly, because a call is to cost less than the buffer protocol
// alone would. Everything else (torch, JAX, …) comes through DLPack.
//
// Thread-safety: everything here needs the GIL, but for copy().
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <vector>

#include "pool.h"
#include "program.h"
#include "runner.h"

namespace anyshape {

// Must be called once before anything else; raises ImportError if NumPy is missing or too old.
void import_numpy();

// The inputs of one call. Keeps what it must until the run is over.
class Arguments {
   public:
    // `dtypes` are NumPy's, one per input. Checks number, kind, dtype and rank; fills in the sizes
    // and, where the data can be used as it is, the address.
    Arguments(nanobind::handle inputs, const Program& program,
              std::span<const nanobind::object> dtypes, Run& run);

    // Inputs that are not contiguous or not aligned are copied before the run.
    bool must_copy() const noexcept { return !awkward_.empty(); }
    void copy(Run& run);

   private:
    struct Awkward {
        std::size_t input;
        const std::byte* data;
        std::size_t item_bytes;
        std::vector<std::int64_t> sizes;
        std::vector<std::int64_t> strides;  // in bytes
        PoolBlock copied;
    };
    using Imported = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;

    void take_numpy(std::size_t input, nanobind::handle array, const nanobind::object& dtype,
                    std::span<std::int64_t> dims, Run& run);
    void take_dlpack(std::size_t input, nanobind::handle object, const nanobind::object& dtype,
                     std::span<std::int64_t> dims, Run& run);

    const Program& program_;
    std::vector<Awkward> awkward_;
    std::vector<Imported> imported_;
};

// A new array on memory of the pool, which goes back there when the array dies.
nanobind::object new_output(const nanobind::object& dtype, std::span<const std::int64_t> dims,
                            std::int64_t bytes);
void* data_of(const nanobind::object& output) noexcept;

// Memory of a run as an array of bytes; `owner` lives as long as the array.
nanobind::object byte_view(std::byte* data, std::int64_t bytes, nanobind::handle owner);

}  // namespace anyshape
