// Reads an ELF64 relocatable object (x86-64 or aarch64, little-endian) without trusting it.
//
// Ownership: an Object and everything it returns are views of the caller's bytes; keep those alive.
// Thread-safety: immutable once made; use it from any thread.
// Failure: malformed bytes throw ObjectError. Nothing outside the bytes is ever read, and every
// number handed out has been checked as its comment says; names are printable ASCII.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace anyshape {

// Object code that cannot be loaded; the message says why.
class ObjectError : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

namespace elf {

using Bytes = std::span<const std::byte>;

// No kernel comes near this. It keeps every sum of offsets and sizes far from overflow, and every
// branch within the reach of the shortest relocation (aarch64: 128 MiB).
inline constexpr std::uint64_t max_object_bytes = std::uint64_t{64} << 20;

enum class Machine : std::uint16_t { x86_64 = EM_X86_64, aarch64 = EM_AARCH64 };

const char* name_of(Machine machine) noexcept;

// A part of the object. `align` is a power of two of at most 4096.
struct Section {
    std::string_view name;
    std::uint32_t type = SHT_NULL;
    std::uint64_t flags = 0;
    std::uint64_t size = 0;
    std::uint64_t align = 1;
    std::uint32_t link = 0;  // of a relocation section: its symbol table
    std::uint32_t info = 0;  // of a relocation section: the section to patch
    Bytes data;              // `size` bytes; empty for SHT_NOBITS

    bool has(std::uint64_t flag) const noexcept { return (flags & flag) != 0; }
};

// A name for a place. If defined: [value, value + size] lies within section `section`.
struct Symbol {
    std::string_view name;
    std::uint64_t value = 0;
    std::uint64_t size = 0;
    std::uint16_t section = SHN_UNDEF;  // an index into sections(), or SHN_ABS, SHN_COMMON
    std::uint8_t type = STT_NOTYPE;
    std::uint8_t binding = STB_LOCAL;

    bool defined() const noexcept { return section != SHN_UNDEF && section < SHN_LORESERVE; }
};

// A place to patch. `symbol` is an index into symbols(); `offset` is not checked.
struct Relocation {
    std::uint64_t offset = 0;
    std::uint32_t type = 0;
    std::uint32_t symbol = 0;
    std::int64_t addend = 0;
};

class Object {
   public:
    explicit Object(Bytes bytes);

    Machine machine() const noexcept { return machine_; }
    const std::vector<Section>& sections() const noexcept { return sections_; }
    const std::vector<Symbol>& symbols() const noexcept { return symbols_; }

    // The entries of a section of type SHT_RELA.
    std::vector<Relocation> relocations(const Section& section) const;

   private:
    void read_sections(Bytes bytes, const Elf64_Ehdr& header);
    void read_symbols();
    Symbol read_symbol(const Elf64_Sym& entry, Bytes names) const;

    Machine machine_;
    std::vector<Section> sections_;
    std::vector<Symbol> symbols_;
    std::uint32_t symbol_table_ = 0;  // index of the one section of type SHT_SYMTAB; 0 if none
};

}  // namespace elf
}  // namespace anyshape
