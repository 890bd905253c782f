// Loads object code into memory and makes it executable.
//
// The object must be closed and constant: every symbol defined in it, no mutable data, nothing to
// run at load time. It needs no dynamic linker, and code from it can be called from any thread.
//
// Ownership: a CodeObject owns its mapping; addresses found in it are valid while it lives. The
// object's bytes are not needed after loading.
// Thread-safety: immutable once made; use it from any thread.
// Failure: anything wrong with the object throws ObjectError, a refusal of memory by the operating
// system std::system_error. Malformed bytes never do worse than that; bytes that are well formed
// are code, and calling them is a matter of trust.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/elf_object.h"

namespace anyshape {

// Where the sections go. Code comes first, constants start on a page of their own: the two parts
// get different permissions.
struct Layout {
    std::vector<std::uint64_t> offsets;  // by section; meaningful where `placed`
    std::vector<bool> placed;            // by section: takes part in the image
    std::uint64_t code_bytes = 0;        // a multiple of the page
    std::uint64_t total_bytes = 0;       // a multiple of the page
};

Layout lay_out(const elf::Object& object, std::uint64_t page_bytes);

// Copies the sections into `image`, which has layout.total_bytes zeroed bytes, and patches them for
// the address `base`.
void link(const elf::Object& object, const Layout& layout, std::uint64_t base,
          std::span<std::byte> image);

// A global function, by its place in the image.
struct CodeSymbol {
    std::string name;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

// Sorted by name, each name once.
std::vector<CodeSymbol> functions(const elf::Object& object, const Layout& layout);

// Private pages: writable from the start, then executable or read-only for good, never both
// writable and executable.
class Mapping {
   public:
    explicit Mapping(std::size_t bytes);
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping();

    std::span<std::byte> bytes() const noexcept { return bytes_; }
    std::uint64_t address() const noexcept {
        return reinterpret_cast<std::uint64_t>(bytes_.data());
    }

    // The first `code_bytes` become executable, the rest constant.
    void seal(std::size_t code_bytes);

   private:
    std::span<std::byte> bytes_;
};

class CodeObject {
   public:
    static CodeObject load(elf::Bytes bytes);

    // The address of a global function; null if there is none of that name.
    const void* find(std::string_view name) const noexcept;

    const std::vector<CodeSymbol>& symbols() const noexcept { return symbols_; }
    std::uint64_t address() const noexcept { return mapping_.address(); }
    std::size_t size() const noexcept { return mapping_.bytes().size(); }

   private:
    CodeObject(Mapping mapping, std::vector<CodeSymbol> symbols)
        : mapping_(std::move(mapping)), symbols_(std::move(symbols)) {}

    Mapping mapping_;
    std::vector<CodeSymbol> symbols_;
};

}  // namespace anyshape
