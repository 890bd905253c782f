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
        count("buffers", program_.buffers.size());
        count("steps", program_.steps.size());
        within("the program");
        complain_unless(program_.window > 0, "a window of no steps");
        for (const Input& input : program_.inputs) check_input(input);
        for (std::size_t i = 0; i < program_.buffers.size(); ++i) check_buffer(i);
        for (std::size_t i = 0; i < program_.outputs.size(); ++i) check_output(i);
        for (std::size_t i = 0; i < program_.steps.size(); ++i) check_step(i);
    }

   private:
    void require(bool holds, const std::string& problem) const {
        if (!holds) throw MalformedProgram(problem);
    }

    void count(const char* what, std::size_t number) const {
        require(number <= max_count, "too many " + std::string(what));
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
        word("offset", buffer.offset);
        const bool is_arena = buffer.kind == BufferKind::arena;
        const bool is_alias = buffer.kind == BufferKind::alias;
        complain_unless(is_alias || !buffer.offset, "only aliases have an offset");
        complain_unless(is_arena || !buffer.per_worker, "only arena buffers are per worker");
        complain_unless(is_alias || !buffer.in_place, "only aliases are in place");
        complain_unless(is_arena || buffer.conflicts.empty(), "only arena buffers conflict");
        switch (buffer.kind) {
            case BufferKind::input:
                return index("input", buffer.of, program_.inputs.size());
            case BufferKind::output:
                complain_unless(buffer.bytes.has_value(), "an output of unknown size");
                index("output", buffer.of, program_.outputs.size());
                return complain_unless(program_.outputs[buffer.of].buffer == number,
                                       "another buffer is that output's");
            case BufferKind::weight:
                return complain_unless(buffer.of != 0, "a weight without an address");
            case BufferKind::alias:
                return complain_unless(buffer.of < number,
                                       "an alias of a buffer that is not before it");
            case BufferKind::arena:
                return check_arena_buffer(buffer, number);
        }
        complain_unless(false, "an unknown kind");
    }

    void check_arena_buffer(const Buffer& buffer, std::size_t number) const {
        complain_unless(buffer.bytes.has_value(), "an arena buffer of unknown size");
        const auto [first, last] = buffer.lifetime;
        complain_unless(first <= last, "it dies before it is born");
        index("last step", last, program_.steps.size());
        for (const std::uint32_t other : buffer.conflicts) {
            index("conflicting buffer", other, program_.buffers.size());
            complain_unless(other != number, "it conflicts with itself");
            complain_unless(program_.buffers[other].kind == BufferKind::arena,
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
        const Buffer& buffer = program_.buffers[output.buffer];
        complain_unless(buffer.kind == BufferKind::output && buffer.of == number,
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
            complain_unless(variant.kernel != nullptr, "a kernel without an address");
            complain_unless(variant.start <= step.block.size(), "a kernel's words are not there");
        }
        complain_unless(step.variant || step.variants.size() == 1,
                        "several kernels and no word that chooses");
        word("variant", step.variant);
        word("tasks", step.tasks);
        word("cost", step.cost);
        count("words of a block", step.block.size());
        for (const Source& source : step.block) check_source(source);
        for (const std::uint32_t wait : step.waits) {
            complain_unless(wait < number,
                            "it waits for step " + std::to_string(wait) +
                                ", which is not before it");
        }
    }

    void check_source(const Source& source) const {
        word("offset", source.offset);
        complain_unless(source.kind == SourceKind::address || !source.offset,
                        "an offset without an address");
        const auto value = static_cast<std::uint64_t>(source.value);  // negative becomes too large
        if (source.kind == SourceKind::word) index("word", value, program_.words);
        if (source.kind == SourceKind::address) index("buffer", value, program_.buffers.size());
    }

    const ProgramDescription& program_;
    std::string subject_;
};

}  // namespace

void validate(const ProgramDescription& program) { Validator(program).check(); }

}  // namespace anyshape
