// The inputs of one call: NumPy arrays, and whatever speaks DLPack. Binding layer.
//
// NumPy's own structures are read directly, because a whole call is to cost less than the buffer
// protocol alone would.
//
// Ownership: Arguments hold references to all inputs, whatever happens to the caller's list while
// the run goes on without the GIL, and to the copies they made.
// Thread-safety: everything but copy() needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <vector>

#include "dlpack_exchange.h"
#include "pool.h"
#include "program.h"
#include "runner.h"

namespace anyshape {

class Arguments {
   public:
    // `dtypes` are NumPy's, one per input. Checks number, kind, dtype and rank; fills in the sizes
    // and, where the data can be used as it is, the address.
    Arguments(nanobind::handle inputs, const Program& program,
              std::span<const nanobind::object> dtypes, Run& run);

    // Inputs that are not contiguous or not aligned are copied before the run.
    bool must_copy() const noexcept { return !awkward_.empty(); }
    std::int64_t copied_bytes() const noexcept;
    void copy(Run& run);

   private:
    struct Awkward {
        std::size_t input;
        const std::byte* data;
        std::size_t item_bytes;
        std::vector<std::int64_t> sizes;
        std::vector<std::int64_t> strides;  // in bytes
        PoolBlock copied;

        std::int64_t bytes() const noexcept;
    };

    void take_numpy(std::size_t input, nanobind::handle array, nanobind::handle dtype,
                    std::span<std::int64_t> dims, Run& run);
    void take_tensor(std::size_t input, nanobind::handle object, nanobind::handle dtype,
                     std::span<std::int64_t> dims, Run& run);

    const Program& program_;
    nanobind::object inputs_;  // a tuple
    std::vector<Awkward> awkward_;
    std::vector<Tensor> tensors_;
};

}  // namespace anyshape
