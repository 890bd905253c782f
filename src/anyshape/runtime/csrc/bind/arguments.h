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

#include "bind/dlpack_exchange.h"
#include "core/byte_range.h"
#include "core/pool.h"
#include "core/program.h"
#include "core/runner.h"

namespace anyshape {

class Arguments {
   public:
    // `dtypes` are NumPy's, one per input. Checks number, kind, dtype and rank; fills in the sizes
    // and, where the data can be used as it is, the address.
    Arguments(nanobind::handle inputs, const Program& program,
              std::span<const nanobind::object> dtypes, Run& run);

    // Inputs that are not contiguous or not aligned are copied before the run, and so are those
    // that copy_to() names. `copied_bytes` are those of the copies that need memory of their own:
    // an input that an output begins with is copied there.
    bool must_copy() const noexcept { return !copies_.empty(); }
    std::int64_t copied_bytes() const noexcept;
    void copy_to(std::size_t input, std::byte* to);
    void copy();

    // The caller's objects, as a tuple, and whether the memory of all inputs lives as long.
    nanobind::handle objects() const noexcept { return inputs_; }
    bool live_with_objects() const noexcept { return copies_.empty() && tensors_.empty(); }

    // What whoever writes into memory of the caller must know about an input.
    nanobind::handle object(std::size_t input) const noexcept;
    std::span<const std::int64_t> sizes(std::size_t input) const noexcept;
    std::int64_t bytes(std::size_t input) const noexcept;  // of its elements
    bool is_used_as_it_is(std::size_t input) const noexcept;
    bool is_writeable(std::size_t input) const noexcept;
    ByteRange range(std::size_t input) const noexcept;

   private:
    struct Copy {
        std::size_t input;
        const std::byte* data;
        std::size_t item_bytes;
        std::vector<std::int64_t> sizes;
        std::vector<std::int64_t> strides;  // in bytes
        std::byte* to = nullptr;            // null: a block of the pool
        PoolBlock block;

        std::int64_t bytes() const noexcept;
    };

    void take_numpy(std::size_t input, nanobind::handle array, nanobind::handle dtype);
    void take_tensor(std::size_t input, nanobind::handle object, nanobind::handle dtype);
    void take(std::size_t input, const std::byte* data, std::span<const std::int64_t> sizes,
              std::span<const std::int64_t> strides);
    void take_in_order(std::size_t input, const std::byte* data,
                       std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);
    std::span<std::int64_t> dims(std::size_t input) const noexcept;
    const Copy* copy_of(std::size_t input) const noexcept;

    const Program& program_;
    Run& run_;
    nanobind::object inputs_;  // a tuple
    std::vector<Copy> copies_;
    std::vector<Tensor> tensors_;
};

}  // namespace anyshape
