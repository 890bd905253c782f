// The results of one call, as NumPy arrays on memory of the pool. Binding layer.
//
// A *growable* output may be continued by the output of a later call, if its block has room: both
// are then arrays on one block. How much of the block is in use is written down, so that only one
// call ever gets the room behind an array, and no array changes while somebody holds it.
//
// Ownership: an array owns its memory, with others on the same block, and the last one returns it
// to the pool.
// Thread-safety: needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>

#include "core/pool.h"
#include "core/program.h"

namespace anyshape {

// Must be called once before anything else; raises ImportError if NumPy is missing or too old.
void import_numpy();

// What an array is like: `dims` in the order of the program, where it lies without gaps. The
// caller sees its axes in the order that `order` tells.
struct ArrayForm {
    nanobind::handle dtype;
    std::span<const std::int64_t> dims;
    const Order& order;
    std::int64_t bytes;
};

nanobind::object new_output(const ArrayForm& form);

// On a block that holds it already, or on memory that lives as long as `owner`.
nanobind::object output_on(const ArrayForm& form, PoolBlock block);
nanobind::object array_on(const ArrayForm& form, std::byte* data, nanobind::object owner);

nanobind::object new_growable_output(const ArrayForm& form);

// An array that begins where a growable one of `used` bytes does, and goes on behind it. Nothing if
// there is no growable array, if it was continued before, or if the room is too small.
nanobind::object continued_output(const ArrayForm& form, const std::byte* data, std::int64_t used);

// Whether several arrays lie in the growable block that begins here.
bool is_shared_block(const std::byte* data) noexcept;

std::byte* data_of(nanobind::handle output) noexcept;

// Memory of a run as an array of bytes; `owner` lives as long as the array.
nanobind::object byte_view(std::byte* data, std::int64_t bytes, nanobind::handle owner);

}  // namespace anyshape
