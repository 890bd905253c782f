#include "bind/read_description.h"

#include <optional>
#include <string>

namespace nb = nanobind;

namespace anyshape {
namespace {

template <typename Number>
Number number(nb::handle value) {
    return nb::cast<Number>(value);
}

std::uint32_t word(nb::handle value) { return number<std::uint32_t>(value); }

std::optional<std::uint32_t> optional_word(nb::handle value) {
    return value.is_none() ? std::nullopt : std::optional(word(value));
}

std::string text(nb::handle value) {
    Py_ssize_t length = 0;
    const char* data = PyUnicode_AsUTF8AndSize(value.ptr(), &length);
    if (data == nullptr) throw nb::python_error();
    return {data, static_cast<std::size_t>(length)};
}

Variant read_variant(nb::handle variant) {
    return {reinterpret_cast<Kernel>(number<std::uintptr_t>(variant[0])), word(variant[1])};
}

Source read_source(nb::handle source) {
    return {static_cast<SourceKind>(number<int>(source[0])), number<std::int64_t>(source[1]),
            optional_word(source[2])};
}

}  // namespace

std::vector<std::int64_t> read_numbers(nb::handle list) {
    return read_list(list, number<std::int64_t>);
}

Input read_input(nb::handle input) {
    return {.name = text(input[0]),
            .type = {number<std::uint8_t>(input[2]), number<std::uint8_t>(input[3])},
            .rank = word(input[4]),
            .order = read_list(input[5], word)};
}

Output read_output(nb::handle output) {
    return {.type = {number<std::uint8_t>(output[1]), number<std::uint8_t>(output[2])},
            .dims = read_list(output[3], word),
            .buffer = word(output[4]),
            .order = read_list(output[5], word),
            .start = optional_word(output[6])};
}

Buffer read_buffer(nb::handle buffer) {
    return {.kind = static_cast<BufferKind>(number<int>(buffer[0])),
            .of = number<std::uint64_t>(buffer[1]),
            .bytes = optional_word(buffer[2]),
            .offset = optional_word(buffer[3]),
            .per_worker = number<bool>(buffer[4]),
            .in_place = number<bool>(buffer[5]),
            .conflicts = read_list(buffer[6], word),
            .lifetime = {word(buffer[7]), word(buffer[8])}};
}

Step read_step(nb::handle step) {
    return {.name = text(step[0]),
            .variants = read_list(step[1], read_variant),
            .variant = optional_word(step[2]),
            .tasks = word(step[3]),
            .cost = optional_word(step[4]),
            .block = read_list(step[5], read_source),
            .waits = read_list(step[6], word)};
}

}  // namespace anyshape
