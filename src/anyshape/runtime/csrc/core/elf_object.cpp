#include "core/elf_object.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace anyshape::elf {
namespace {

void require(bool condition, const char* problem) {
    if (!condition) throw ObjectError(problem);
}

Bytes slice(Bytes bytes, std::uint64_t offset, std::uint64_t size, const char* problem) {
    require(offset <= bytes.size() && size <= bytes.size() - offset, problem);
    return bytes.subspan(offset, size);
}

// Copies a table out of the file, where nothing need be aligned.
template <class Record>
std::vector<Record> records(Bytes table, const char* problem) {
    static_assert(std::is_trivially_copyable_v<Record>);
    require(table.size() % sizeof(Record) == 0, problem);
    std::vector<Record> result(table.size() / sizeof(Record));
    if (!result.empty()) std::memcpy(result.data(), table.data(), table.size());
    return result;
}

bool printable(std::byte character) {
    return character >= std::byte{' '} && character <= std::byte{'~'};
}

// The zero-terminated text at `offset` of a string table.
std::string_view text_at(Bytes table, std::uint64_t offset) {
    require(offset < table.size(), "a name lies outside its string table");
    const Bytes rest = table.subspan(offset);
    const auto end = std::ranges::find(rest, std::byte{0});
    require(end != rest.end(), "a name has no end");
    require(std::all_of(rest.begin(), end, printable), "a name is not printable ASCII");
    return {reinterpret_cast<const char*>(rest.data()),
            static_cast<std::size_t>(end - rest.begin())};
}

Elf64_Ehdr read_header(Bytes bytes) {
    const Bytes first = slice(bytes, 0, sizeof(Elf64_Ehdr), "not an ELF file");
    const Elf64_Ehdr header = records<Elf64_Ehdr>(first, "not an ELF file").front();
    require(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0, "not an ELF file");
    require(header.e_ident[EI_CLASS] == ELFCLASS64, "not a 64-bit ELF file");
    require(header.e_ident[EI_DATA] == ELFDATA2LSB, "not a little-endian ELF file");
    require(header.e_type == ET_REL, "not a relocatable object");
    require(header.e_machine == EM_X86_64 || header.e_machine == EM_AARCH64,
            "not for x86-64 or aarch64");
    require(header.e_shentsize == sizeof(Elf64_Shdr), "section headers of an unknown size");
    return header;
}

Section read_section(Bytes bytes, const Elf64_Shdr& header) {
    const std::uint64_t align = std::max<std::uint64_t>(header.sh_addralign, 1);
    require(std::has_single_bit(align) && align <= 4096, "a section has an impossible alignment");
    require(header.sh_size <= max_object_bytes, "a section is too large");
    Section section{.name = {},
                    .type = header.sh_type,
                    .flags = header.sh_flags,
                    .size = header.sh_size,
                    .align = align,
                    .link = header.sh_link,
                    .info = header.sh_info,
                    .data = {}};
    if (header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL) {
        section.data = slice(bytes, header.sh_offset, header.sh_size, "a section is cut short");
    }
    return section;
}

}  // namespace

const char* name_of(Machine machine) noexcept {
    return machine == Machine::x86_64 ? "x86-64" : "aarch64";
}

Object::Object(Bytes bytes) {
    require(bytes.size() <= max_object_bytes, "the object is too large");
    const Elf64_Ehdr header = read_header(bytes);
    machine_ = Machine{header.e_machine};
    read_sections(bytes, header);
    read_symbols();
}

void Object::read_sections(Bytes bytes, const Elf64_Ehdr& header) {
    const char* const problem = "the section headers are cut short";
    const std::uint64_t size = std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
    const auto entries = records<Elf64_Shdr>(slice(bytes, header.e_shoff, size, problem), problem);
    sections_.reserve(entries.size());
    for (const Elf64_Shdr& entry : entries) sections_.push_back(read_section(bytes, entry));

    require(header.e_shstrndx < sections_.size(), "the section names are missing");
    const Bytes names = sections_[header.e_shstrndx].data;
    for (std::size_t index = 0; index < entries.size(); ++index) {
        sections_[index].name = text_at(names, entries[index].sh_name);
    }
}

void Object::read_symbols() {
    const auto is_table = [](const Section& section) { return section.type == SHT_SYMTAB; };
    const auto table = std::ranges::find_if(sections_, is_table);
    if (table == sections_.end()) return;
    require(std::find_if(table + 1, sections_.end(), is_table) == sections_.end(),
            "more than one symbol table");
    require(table->link < sections_.size(), "the symbol names are missing");
    symbol_table_ = static_cast<std::uint32_t>(table - sections_.begin());
    const auto entries = records<Elf64_Sym>(table->data, "the symbol table is cut short");
    symbols_.reserve(entries.size());
    for (const Elf64_Sym& entry : entries) {
        symbols_.push_back(read_symbol(entry, sections_[table->link].data));
    }
}

Symbol Object::read_symbol(const Elf64_Sym& entry, Bytes names) const {
    const Symbol symbol{.name = text_at(names, entry.st_name),
                        .value = entry.st_value,
                        .size = entry.st_size,
                        .section = entry.st_shndx,
                        .type = static_cast<std::uint8_t>(ELF64_ST_TYPE(entry.st_info)),
                        .binding = static_cast<std::uint8_t>(ELF64_ST_BIND(entry.st_info))};
    if (symbol.defined()) {
        require(symbol.section < sections_.size(), "a symbol lies in a section that is not there");
        const std::uint64_t end = sections_[symbol.section].size;
        require(symbol.value <= end && symbol.size <= end - symbol.value,
                "a symbol lies outside its section");
    }
    return symbol;
}

std::vector<Relocation> Object::relocations(const Section& section) const {
    require(section.link == symbol_table_ && symbol_table_ != 0,
            "relocations without their symbol table");
    const auto entries = records<Elf64_Rela>(section.data, "the relocations are cut short");
    std::vector<Relocation> result;
    result.reserve(entries.size());
    for (const Elf64_Rela& entry : entries) {
        const std::uint64_t symbol = ELF64_R_SYM(entry.r_info);
        require(symbol < symbols_.size(), "a relocation refers to a symbol that is not there");
        result.push_back({.offset = entry.r_offset,
                          .type = static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info)),
                          .symbol = static_cast<std::uint32_t>(symbol),
                          .addend = entry.r_addend});
    }
    return result;
}

}  // namespace anyshape::elf
