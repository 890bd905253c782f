// Loads damaged object code for as long as asked, under the sanitizers: `make sanitize`.
//
//   fuzz_object <rounds> <object>...
//
// Every object is damaged at random, read, laid out, linked into a buffer of its exact size, and,
// if it is for this machine, mapped. Nothing is executed. Any outcome but success or ObjectError
// ends the program.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "core/object.h"

namespace {

using Content = std::vector<std::byte>;
using Random = std::mt19937_64;

Content read_file(const char* path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
    return {bytes, bytes + text.size()};
}

std::uint64_t below(Random& random, std::uint64_t limit) { return random() % limit; }

std::uint64_t misleading_value(Random& random) {
    static constexpr std::uint64_t one = 1;
    static constexpr std::uint64_t edges[] = {0,          1,          4,         0x7F,     0xFFFF,
                                              0x7FFFFFFF, 0xFFFFFFFF, one << 40, one << 63};
    switch (below(random, 3)) {
        case 0: return random();
        case 1: return below(random, 4096);
        default: return edges[below(random, std::size(edges))] - below(random, 2);
    }
}

// The tables at both ends of the file are hit as often as everything between them.
std::size_t misleading_place(Random& random, const Content& content) {
    const std::size_t tables = std::min<std::size_t>(content.size(), 1024);
    switch (below(random, 4)) {
        case 0: return below(random, 64);
        case 1: return below(random, content.size());
        default: return content.size() - 1 - below(random, tables);
    }
}

Content damage(Content content, Random& random) {
    for (std::uint64_t count = 1 + below(random, 4); count > 0; --count) {
        const std::size_t place = misleading_place(random, content) & ~std::size_t{1};
        const std::uint64_t value = misleading_value(random);
        const std::size_t width = std::size_t{1} << below(random, 4);
        for (std::size_t i = 0; i < width && place + i < content.size(); ++i) {
            content[place + i] = static_cast<std::byte>(value >> (8 * i));
        }
    }
    if (below(random, 16) == 0) content.resize(below(random, content.size()));
    content.shrink_to_fit();  // so that one byte too far is one byte outside the allocation
    return content;
}

void link_into_buffer(const Content& content) {
    const anyshape::elf::Object object(content);
    const anyshape::Layout layout = anyshape::lay_out(object, 4096);
    Content image(layout.total_bytes);
    anyshape::link(object, layout, std::uint64_t{0x7F00} << 32, image);
    anyshape::functions(object, layout);
}

template <class Action>
bool succeeds(Action action) {
    try {
        action();
        return true;
    } catch (const anyshape::ObjectError&) {
        return false;
    }
}

bool accepted(const Content& content) {
    succeeds([&] { anyshape::CodeObject::load(content); });
    return succeeds([&] { link_into_buffer(content); });
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return std::fputs("usage: fuzz_object <rounds> <object>...\n", stderr), 2;
    const long rounds = std::strtol(argv[1], nullptr, 10);
    for (int argument = 2; argument < argc; ++argument) {
        const Content original = read_file(argv[argument]);
        Random random(static_cast<std::uint64_t>(argument));
        long count = 0;
        for (long round = 0; round < rounds; ++round) count += accepted(damage(original, random));
        std::printf("%s: %ld of %ld accepted\n", argv[argument], count, rounds);
    }
}
