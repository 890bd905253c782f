#include "bind/results.h"

#include <algorithm>
#include <string>
#include <utility>

#include "bind/numpy_api.h"
#include "bind/python_failures.h"
#include "core/byte_range.h"
#include "core/failures.h"

namespace nb = nanobind;

namespace anyshape {
namespace {

constexpr std::size_t no_input = ~std::size_t{0};

std::span<const std::int64_t> sizes_of(PyArrayObject* array) {
    return as_words(PyArray_DIMS(array), static_cast<std::size_t>(PyArray_NDIM(array)));
}

std::span<const std::int64_t> strides_of(PyArrayObject* array) {
    return as_words(PyArray_STRIDES(array), static_cast<std::size_t>(PyArray_NDIM(array)));
}

// As the caller sees it.
nb::tuple shape_of(const ArrayForm& form) {
    std::vector<std::int64_t> sizes(form.dims.begin(), form.dims.end());
    for (std::size_t axis = 0; axis < form.order.size(); ++axis) {
        sizes[form.order[axis]] = form.dims[axis];
    }
    return as_tuple(sizes);
}

ByteRange range_of(PyArrayObject* array) {
    return byte_range(reinterpret_cast<const std::byte*>(PyArray_BYTES(array)), sizes_of(array),
                      strides_of(array), PyArray_ITEMSIZE(array));
}

}  // namespace

Results::Results(Run& run, Arguments& arguments, std::span<const nb::object> dtypes,
                 nb::handle given, Donated donated)
    : run_(run),
      arguments_(arguments),
      program_(*run.specialization()->program),
      specialization_(*run.specialization()),
      dtypes_(dtypes),
      donated_(donated) {
    if (given.is_none()) return;
    const nb::object arrays = nb::steal(PySequence_Tuple(given.ptr()));
    if (!arrays.is_valid()) throw nb::python_error();
    const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(arrays.ptr()));
    if (count != dtypes.size()) raise_failure("OutputCountError", dtypes.size(), count);
    given_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const nb::handle array = PyTuple_GET_ITEM(arrays.ptr(), static_cast<Py_ssize_t>(i));
        if (!array.is_none()) accept(i, array);
    }
}

ArrayForm Results::form(std::size_t output) const {
    const Output& declared = program_.outputs()[output];
    return {.dtype = dtypes_[output],
            .dims = std::span(specialization_.output_dims)
                        .subspan(program_.output_dim_begin(output), declared.dims.size()),
            .order = declared.order,
            .bytes = specialization_.buffer_bytes[declared.buffer]};
}

// ---- given arrays ----------------------------------------------------------------------------

void Results::accept(std::size_t output, nb::handle object) {
    const ArrayForm expected = form(output);
    if (!PyArray_Check(object.ptr())) {
        raise_failure("OutputKindError", output, nb::type_name(object.type()));
    }
    PyArrayObject* array = as_array(object);
    const bool fits = PyArray_EquivTypes(PyArray_DESCR(array), as_dtype(expected.dtype)) != 0 &&
                      sizes_of(array).size() == expected.dims.size() &&
                      std::ranges::equal(in_order(sizes_of(array), expected.order), expected.dims);
    if (!fits || !PyArray_ISWRITEABLE(array)) {
        raise_failure("OutputUnfitError", output, nb::str(expected.dtype), shape_of(expected),
                      nb::str(nb::handle(reinterpret_cast<PyObject*>(PyArray_DESCR(array)))),
                      as_tuple(sizes_of(array)), static_cast<bool>(PyArray_ISWRITEABLE(array)));
    }
    if (is_writeable_as_it_is(output, object)) given_[output] = nb::borrow(object);
}

bool Results::is_writeable_as_it_is(std::size_t output, nb::handle object) const {
    PyArrayObject* array = as_array(object);
    const Output& declared = program_.outputs()[output];
    const std::int64_t item_bytes = declared.type.bytes();
    const std::byte* data = data_of(object);
    const bool dense = is_aligned(data, item_bytes) &&
                       is_dense(in_order(sizes_of(array), declared.order),
                                in_order(strides_of(array), declared.order), item_bytes);
    // The input that it begins with may lie exactly there.
    const bool on_start = declared.start && arguments_.is_used_as_it_is(*declared.start) &&
                          run_.input(*declared.start) == data;
    return dense && is_clear_of_inputs(range_of(array), on_start ? *declared.start : no_input);
}

bool Results::is_clear_of_inputs(const ByteRange& range, std::size_t except) const {
    for (std::size_t input = 0; input < program_.inputs().size(); ++input) {
        if (input != except && range.overlaps(arguments_.range(input))) return false;
    }
    return true;
}

std::int64_t Results::given_bytes() const noexcept {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < given_.size(); ++i) {
        if (given_[i].is_valid()) {
            bytes += specialization_.buffer_bytes[program_.outputs()[i].buffer];
        }
    }
    return bytes;
}

// ---- memory for all --------------------------------------------------------------------------

nb::tuple Results::attach() {
    const auto& outputs = program_.outputs();
    nb::object arrays = nb::steal(PyTuple_New(std::ssize(outputs)));
    if (!arrays.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        Placed placed = place(i);
        run_.set_output(i, placed.data);
        PyTuple_SET_ITEM(arrays.ptr(), static_cast<Py_ssize_t>(i), placed.array.release().ptr());
    }
    return nb::steal<nb::tuple>(arrays.release());
}

Results::Placed Results::place(std::size_t output) {
    const std::optional<std::uint32_t> start = program_.outputs()[output].start;
    if (start) return place_from(output, *start);
    nb::object array =
        !given_.empty() && given_[output].is_valid() ? given_[output] : new_output(form(output));
    std::byte* data = data_of(array);
    return {std::move(array), data};
}

// The memory of an output that begins with an input, which is copied there unless it is there.
Results::Placed Results::place_from(std::size_t output, std::size_t input) {
    const std::int64_t held = arguments_.bytes(input);
    const ArrayForm expected = form(output);
    if (expected.bytes < held) {
        throw ImpossibleSize("bytes of output " + std::to_string(output), expected.bytes);
    }
    Placed placed;
    if (!given_.empty() && given_[output].is_valid()) {
        placed = {given_[output], data_of(given_[output])};
    } else if (donated_ == Donated::given_up) {
        placed = taken_over(output, input);
    }
    if (!placed.array.is_valid()) {
        placed.array = expected.bytes > held ? new_growable_output(expected) : new_output(expected);
        placed.data = data_of(placed.array);
    }
    const bool is_there = arguments_.is_used_as_it_is(input) && run_.input(input) == placed.data;
    if (!is_there) arguments_.copy_to(input, placed.data);
    return placed;
}

// Nothing if the input's memory cannot be used.
Results::Placed Results::taken_over(std::size_t output, std::size_t input) const {
    if (!arguments_.is_used_as_it_is(input)) return {};
    const ArrayForm expected = form(output);
    const std::byte* data = run_.input(input);
    auto* writeable = const_cast<std::byte*>(data);
    const std::int64_t held = arguments_.bytes(input);
    if (expected.bytes > held) return {continued_output(expected, data, held), writeable};
    const bool may_write = arguments_.is_writeable(input) && !is_shared_block(data) &&
                           std::ranges::equal(arguments_.sizes(input), expected.dims) &&
                           is_clear_of_inputs(arguments_.range(input), input);
    if (!may_write) return {};
    return {nb::borrow(arguments_.object(input)), writeable};
}

}  // namespace anyshape
