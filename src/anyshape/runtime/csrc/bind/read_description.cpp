#include "bind/read_description.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "bind/read_values.h"
#include "core/failures.h"

namespace nb = nanobind;

namespace anyshape {
namespace {

using namespace reading;

// ---- descriptions ----------------------------------------------------------------------------

Variant read_variant(nb::handle variant) {
    return {.kernel = field<"kernel">(variant, index), .start = field<"start">(variant, index)};
}

Split read_split(nb::handle split) {
    return {.symbol = field<"symbol">(split, index),
            .least = field<"least">(split, number<std::int64_t>),
            .multiple_of = field<"multiple_of">(split, number<std::int64_t>),
            .inputs = field<"inputs">(split, indices),
            .outputs = field<"outputs">(split, indices),
            .once = field<"once">(split, indices)};
}

// Knows the classes of anyshape/program, by which stores and sources are told apart.
class Reader {
   public:
    ReadDescription read(nb::handle description) const {
        ReadDescription result;
        const auto input = [&](nb::handle value) { return read_input(value, result.input_dtypes); };
        const auto output = [&](nb::handle value) {
            return read_output(value, result.output_dtypes);
        };
        const auto buffer = [this](nb::handle value) { return read_buffer(value); };
        const auto step = [this](nb::handle value) { return read_step(value); };
        result.program = {
            .bind = field<"bind">(description, function<BindFunction>),
            .shape = field<"shape">(description, function<ShapeFunction>),
            .symbols = field<"symbols">(description, index),
            .words = field<"words">(description, index),
            .window = field<"window">(description, index),
            .kernels = field<"kernels">(description, tuple_of(function<Kernel>)),
            .constants = field<"constants">(description, tuple_of(number<std::uintptr_t>)),
            .inputs = field<"inputs">(description, tuple_of(input)),
            .outputs = field<"outputs">(description, tuple_of(output)),
            .buffers = field<"buffers">(description, tuple_of(buffer)),
            .steps = field<"steps">(description, tuple_of(step)),
            .splits = field<"splits">(description, tuple_of(read_split)),
        };
        return result;
    }

   private:
    using Dtypes = std::vector<nb::object>;

    static nb::object program_class(const char* name) {
        return nb::module_::import_("anyshape.program").attr(name);
    }

    // DLPack's type; NumPy's is appended to `dtypes`.
    DataType read_type(nb::handle dtype, Dtypes& dtypes) const {
        if (!nb::isinstance(dtype, dtype_)) throw_expected("a NumPy dtype", dtype);
        dtypes.push_back(nb::borrow(dtype));
        PyObject* type = PyObject_CallOneArg(dlpack_type_.ptr(), dtype.ptr());
        if (type == nullptr) throw_python_error();
        const nb::object code_and_bits = nb::steal(type);
        return {nb::cast<std::uint8_t>(code_and_bits[0]), nb::cast<std::uint8_t>(code_and_bits[1])};
    }

    Input read_input(nb::handle input, Dtypes& dtypes) const {
        const auto type = [&](nb::handle dtype) { return read_type(dtype, dtypes); };
        return {.name = field<"name">(input, text),
                .type = field<"dtype">(input, type),
                .rank = field<"rank">(input, index),
                .order = field<"order">(input, indices)};
    }

    Output read_output(nb::handle output, Dtypes& dtypes) const {
        const auto type = [&](nb::handle dtype) { return read_type(dtype, dtypes); };
        return {.type = field<"dtype">(output, type),
                .dims = field<"dims">(output, indices),
                .buffer = field<"buffer">(output, index),
                .order = field<"order">(output, indices),
                .start = field<"start">(output, optional_index)};
    }

    Buffer read_buffer(nb::handle buffer) const {
        const auto store = [this](nb::handle value) { return read_store(value); };
        return {.store = field<"store">(buffer, store), .bytes = field<"bytes">(buffer, index)};
    }

    Store read_store(nb::handle store) const {
        const nb::handle type = store.type();
        if (type.is(arena_store_)) {
            return ArenaStore{.lifetime = {.first = field<"first">(store, index),
                                           .last = field<"last">(store, index)},
                              .conflicts = field<"conflicts">(store, indices),
                              .per_worker = field<"per_worker">(store, truth)};
        }
        if (type.is(alias_store_)) {
            return AliasStore{.of = field<"of">(store, index),
                              .offset = field<"offset">(store, optional_index),
                              .in_place = field<"in_place">(store, truth)};
        }
        if (type.is(constant_store_)) return ConstantStore{field<"index">(store, index)};
        if (type.is(input_store_)) return InputStore{field<"index">(store, index)};
        if (type.is(output_store_)) return OutputStore{field<"index">(store, index)};
        throw_expected("a store", store);
    }

    Step read_step(nb::handle step) const {
        const auto source = [this](nb::handle value) { return read_source(value); };
        return {.name = field<"name">(step, text),
                .variants = field<"variants">(step, tuple_of(read_variant)),
                .variant = field<"variant">(step, optional_index),
                .tasks = field<"tasks">(step, index),
                .cost = field<"cost">(step, optional_index),
                .block = field<"block">(step, tuple_of(source)),
                .waits = field<"waits">(step, indices),
                .carries_chain = field<"carries_chain">(step, truth)};
    }

    Source read_source(nb::handle source) const {
        const nb::handle type = source.type();
        if (type.is(word_)) return Word{field<"index">(source, index)};
        if (type.is(address_)) return Address{field<"buffer">(source, index)};
        if (type.is(immediate_)) return Immediate{field<"value">(source, number<std::int64_t>)};
        if (type.is(kernel_address_)) return KernelAddress{field<"kernel">(source, index)};
        throw_expected("a source", source);
    }

    const nb::object input_store_ = program_class("InputStore");
    const nb::object output_store_ = program_class("OutputStore");
    const nb::object constant_store_ = program_class("ConstantStore");
    const nb::object arena_store_ = program_class("ArenaStore");
    const nb::object alias_store_ = program_class("AliasStore");
    const nb::object word_ = program_class("Word");
    const nb::object immediate_ = program_class("Immediate");
    const nb::object address_ = program_class("Address");
    const nb::object kernel_address_ = program_class("KernelAddress");
    const nb::object dtype_ = nb::module_::import_("numpy").attr("dtype");
    const nb::object dlpack_type_ =
        nb::module_::import_("anyshape.runtime.dlpack").attr("dlpack_type");
};

}  // namespace

ReadDescription read_description(nb::handle description) {
    try {
        return Reader().read(description);
    } catch (const Misread& misread) {
        misread.raise();
    }
}

RunOptions read_run_options(nb::handle options) {
    const auto limit = [](nb::handle value) {
        if (!value.is_none() && !PyLong_Check(value.ptr())) {
            throw_expected("a number of bytes", value);
        }
        return read_memory_limit(value, max_bytes);
    };
    try {
        return {.threads = field<"threads">(options, number<int>),
                .team_cost_ns = field<"team_cost_ns">(options, number<std::int64_t>),
                .split_cost_ns = field<"split_cost_ns">(options, number<std::int64_t>),
                .wait_for_team = field<"wait_for_team">(options, truth),
                .cache_entries = field<"cache_entries">(options, number<std::size_t>),
                .cache_bytes = field<"cache_bytes">(options, number<std::size_t>),
                .memory_limit = field<"memory_limit">(options, limit)};
    } catch (const Misread& misread) {
        misread.raise();
    }
}

std::int64_t read_memory_limit(nb::handle limit, std::int64_t otherwise) {
    if (limit.is_none()) return otherwise;
    if (!PyLong_Check(limit.ptr())) throw nb::type_error("a memory limit is a number of bytes");
    int overflow = 0;
    const long long bytes = PyLong_AsLongLongAndOverflow(limit.ptr(), &overflow);
    return overflow > 0 ? max_bytes : std::min<std::int64_t>(bytes, max_bytes);
}

std::vector<std::int64_t> read_numbers(nb::handle list) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(nb::len(list));
    for (const nb::handle element : list) numbers.push_back(nb::cast<std::int64_t>(element));
    return numbers;
}

}  // namespace anyshape
