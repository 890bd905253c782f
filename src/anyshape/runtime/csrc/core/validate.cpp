#include "core/validate.h"

#include <string>
#include <vector>

#include "core/failures.h"

namespace anyshape {
namespace {

// More than any program needs; keeps sums of indices within 32 bits.
constexpr std::size_t max_count = 1U << 24;

class Validator {
   public:
    explicit Validator(const ProgramDescription& program) : program_(program) {}

    void check() {
        require(program_.bind != nullptr, "there is no bind function");
        require(program_.shape != nullptr, "there is no shape function");
        count("symbols", program_.symbols);
        count("words", program_.words);
        count("inputs", program_.inputs.size());
        count("outputs", program_.outputs.size());
        count("kernels", program_.kernels.size());
        count("constants", program_.constants.size());
        count("buffers", program_.buffers.size());
        count("steps", program_.steps.size());
        within("the program");
        complain_unless(program_.window > 0, "a window of no steps");
        addresses("kernel", program_.kernels);
        addresses("constant", program_.constants);
        for (const Input& input : program_.inputs) check_input(input);
        for (std::size_t i = 0; i < program_.buffers.size(); ++i) check_buffer(i);
        for (std::size_t i = 0; i < program_.outputs.size(); ++i) check_output(i);
        for (std::size_t i = 0; i < program_.steps.size(); ++i) check_step(i);
        for (std::size_t i = 0; i < program_.splits.size(); ++i) check_split(i);
    }

   private:
    void require(bool holds, const std::string& problem) const {
        if (!holds) throw MalformedProgram(problem);
    }

    void count(const char* what, std::size_t number) const {
        require(number <= max_count, "too many " + std::string(what));
    }

    template <typename Pointer>
    void addresses(const char* what, const std::vector<Pointer>& table) const {
        for (std::size_t i = 0; i < table.size(); ++i) {
            require(table[i] != Pointer{},
                    std::string(what) + " " + std::to_string(i) + " has no address");
        }
    }

    // Names what the following complaints are about.
    void within(std::string subject) { subject_ = std::move(subject); }

    void complain_unless(bool holds, const std::string& problem) const {
        if (!holds) throw MalformedProgram(subject_ + ": " + problem);
    }

    void index(const std::string& what, std::uint64_t value, std::size_t end) const {
        complain_unless(value < end, what + " " + std::to_string(value) + " is not one of " +
                                         std::to_string(end));
    }

    void word(const char* role, std::optional<std::uint32_t> value) const {
        if (value) index(std::string(role) + " word", *value, program_.words);
    }

    void check_split(std::size_t number) {
        const Split& split = program_.splits[number];
        within("split " + std::to_string(number));
        index("symbol", split.symbol, program_.symbols);
        complain_unless(split.least > 0, "a part of no elements");
        complain_unless(split.multiple_of > 0, "a multiple of no elements");
        for (const std::uint32_t input : split.inputs) {
            index("input", input, program_.inputs.size());
        }
        for (const std::uint32_t output : split.outputs) {
            index("output", output, program_.outputs.size());
        }
        for (const std::uint32_t step : split.once) index("step", step, program_.steps.size());
        for (const Output& output : program_.outputs) {
            complain_unless(!output.start, "an output begins with an input");
        }
    }

    void check_type(DataType type) const { complain_unless(type.bits > 0, "a type of no bits"); }

    void check_input(const Input& input) {
        within("input '" + input.name + "'");
        check_type(input.type);
        complain_unless(input.rank <= 64, "a rank beyond 64");
        check_order(input.order, input.rank);
    }

    void check_order(const Order& order, std::size_t rank) const {
        std::vector<bool> seen(rank, false);
        for (const std::uint32_t axis : order) {
            index("axis", axis, rank);
            complain_unless(!seen[axis], "an order that names an axis twice");
            seen[axis] = true;
        }
        complain_unless(order.empty() || order.size() == rank, "an order of other axes");
    }

    void check_buffer(std::size_t number) {
        const Buffer& buffer = program_.buffers[number];
        within("buffer " + std::to_string(number));
        word("bytes", buffer.bytes);
        std::visit([&](const auto& store) { check_store(store, number); }, buffer.store);
    }

    void check_store(const InputStore& store, std::size_t) const {
        index("input", store.index, program_.inputs.size());
    }

    void check_store(const OutputStore& store, std::size_t number) const {
        index("output", store.index, program_.outputs.size());
        complain_unless(program_.outputs[store.index].buffer == number,
                        "another buffer is that output's");
    }

    void check_store(const ConstantStore& store, std::size_t) const {
        index("constant", store.index, program_.constants.size());
    }

    void check_store(const AliasStore& store, std::size_t number) const {
        complain_unless(store.of < number, "an alias of a buffer that is not before it");
        word("offset", store.offset);
    }

    void check_store(const ArenaStore& store, std::size_t number) const {
        const auto [first, last] = store.lifetime;
        complain_unless(first <= last, "it dies before it is born");
        index("last step", last, program_.steps.size());
        for (const std::uint32_t other : store.conflicts) {
            index("conflicting buffer", other, program_.buffers.size());
            complain_unless(other != number, "it conflicts with itself");
            complain_unless(std::holds_alternative<ArenaStore>(program_.buffers[other].store),
                            "it conflicts with buffer " + std::to_string(other) +
                                ", which is not in the arena");
        }
    }

    // Output o is the memory of one buffer, and that buffer is output o.
    void check_output(std::size_t number) {
        const Output& output = program_.outputs[number];
        within("output " + std::to_string(number));
        check_type(output.type);
        complain_unless(output.dims.size() <= 64, "a rank beyond 64");
        for (const std::uint32_t dim : output.dims) word("dim", dim);
        index("buffer", output.buffer, program_.buffers.size());
        const auto* store = std::get_if<OutputStore>(&program_.buffers[output.buffer].store);
        complain_unless(store != nullptr && store->index == number,
                        "buffer " + std::to_string(output.buffer) + " is not this output's");
        check_order(output.order, output.dims.size());
        if (output.start) check_start(number);
    }

    void check_start(std::size_t number) {
        const Output& output = program_.outputs[number];
        index("start", *output.start, program_.inputs.size());
        complain_unless(program_.inputs[*output.start].type == output.type,
                        "it begins with an input of another type");
        for (std::size_t other = 0; other < number; ++other) {
            complain_unless(program_.outputs[other].start != output.start,
                            "another output begins with the same input");
        }
    }

    void check_step(std::size_t number) {
        const Step& step = program_.steps[number];
        within("step " + std::to_string(number) + " (" + step.name + ")");
        complain_unless(!step.variants.empty(), "it has no kernel");
        for (const Variant& variant : step.variants) {
            index("kernel", variant.kernel, program_.kernels.size());
            complain_unless(variant.start <= step.block.size(), "a kernel's words are not there");
        }
        complain_unless(step.variant || step.variants.size() == 1,
                        "several kernels and no word that chooses");
        word("variant", step.variant);
        word("tasks", step.tasks);
        word("cost", step.cost);
        count("words of a block", step.block.size());
        for (const Source& source : step.block) {
            std::visit([&](const auto& its) { check_source(its); }, source);
        }
        for (const std::uint32_t wait : step.waits) {
            complain_unless(wait < number, "it waits for step " + std::to_string(wait) +
                                               ", which is not before it");
        }
    }

    void check_source(Word source) const { index("word", source.index, program_.words); }
    void check_source(Immediate) const {}
    void check_source(KernelAddress source) const {
        index("kernel", source.kernel, program_.kernels.size());
    }
    void check_source(Address source) const {
        index("buffer", source.buffer, program_.buffers.size());
    }

    const ProgramDescription& program_;
    std::string subject_;
};

}  // namespace

void validate(const ProgramDescription& program) { Validator(program).check(); }

}  // namespace anyshape
