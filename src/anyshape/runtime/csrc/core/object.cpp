#include "core/object.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/relocate.h"

namespace anyshape {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t power_of_two) {
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

// ---- which sections belong to the image ------------------------------------------------------

[[noreturn]] void refuse(const elf::Section& section, const char* problem) {
    throw ObjectError("section " + std::string(section.name) + " " + problem);
}

// Written only by relocation, so constant once loaded: tables of addresses.
bool constant_after_linking(const elf::Section& section) {
    return section.type == SHT_PROGBITS && section.name.starts_with(".data.rel.ro");
}

bool runs_at_load_time(const elf::Section& section) {
    return section.type == SHT_INIT_ARRAY || section.type == SHT_FINI_ARRAY ||
           section.type == SHT_PREINIT_ARRAY;
}

void check_loadable(const elf::Section& section) {
    const bool writable = section.type == SHT_NOBITS || section.has(SHF_WRITE);
    if (section.has(SHF_TLS)) refuse(section, "is thread-local");
    if (runs_at_load_time(section)) refuse(section, "has code to run at load time");
    if (writable && section.has(SHF_EXECINSTR)) refuse(section, "is code that changes");
    if (writable && !constant_after_linking(section)) refuse(section, "is data that changes");
}

bool belongs_to_image(const elf::Section& section) {
    if (!section.has(SHF_ALLOC) || section.size == 0) return false;
    check_loadable(section);
    return true;
}

// ---- addresses -------------------------------------------------------------------------------

std::uint64_t offset_of(const elf::Symbol& symbol, const Layout& layout) {
    if (!symbol.defined()) {
        throw ObjectError("unresolved symbol '" + std::string(symbol.name) + "'");
    }
    if (!layout.placed[symbol.section]) {
        throw ObjectError("symbol '" + std::string(symbol.name) + "' is not in loaded memory");
    }
    return layout.offsets[symbol.section] + symbol.value;
}

// One section on its way into the image.
struct Destination {
    const elf::Section& section;
    std::uint64_t address;         // at run time
    std::span<std::byte> content;  // in the image
};

void apply_one(const elf::Object& object, const elf::Relocation& relocation, std::uint64_t symbol,
               const Destination& to) {
    if (relocation.offset > to.content.size()) refuse(to.section, "has a relocation outside of it");
    try {
        apply(object.machine(), {.type = relocation.type,
                                 .field = to.content.subspan(relocation.offset),
                                 .place = to.address + relocation.offset,
                                 .value = symbol + static_cast<std::uint64_t>(relocation.addend)});
    } catch (const ObjectError& error) {
        const std::string symbol_name(object.symbols()[relocation.symbol].name);
        throw ObjectError(std::string(error.what()) + " (symbol '" + symbol_name + "', section " +
                          std::string(to.section.name) + ")");
    }
}

bool patches_image(const elf::Section& section, const Layout& layout) {
    if (section.type != SHT_RELA && section.type != SHT_REL) return false;
    if (section.info >= layout.placed.size()) refuse(section, "patches nothing");
    if (!layout.placed[section.info]) return false;
    if (section.type == SHT_REL) refuse(section, "has relocations of an unknown form");
    return true;
}

// ---- the machine -----------------------------------------------------------------------------

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

bool is_this_machine(elf::Machine machine) noexcept {
#if defined(__x86_64__)
    return machine == elf::Machine::x86_64;
#elif defined(__aarch64__)
    return machine == elf::Machine::aarch64;
#else
    (void)machine;
    return false;
#endif
}

[[noreturn]] void throw_errno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void protect(std::span<std::byte> pages, int permissions) {
    if (pages.empty()) return;
    if (mprotect(pages.data(), pages.size(), permissions) != 0) throw_errno("mprotect");
}

}  // namespace

// ---- linking ---------------------------------------------------------------------------------

Layout lay_out(const elf::Object& object, std::uint64_t page_bytes) {
    const auto& sections = object.sections();
    Layout layout{.offsets = std::vector<std::uint64_t>(sections.size()),
                  .placed = std::vector<bool>(sections.size())};
    const auto place_all = [&](bool code) {
        for (std::size_t index = 0; index < sections.size(); ++index) {
            const elf::Section& section = sections[index];
            if (!belongs_to_image(section) || section.has(SHF_EXECINSTR) != code) continue;
            layout.placed[index] = true;
            layout.offsets[index] = round_up(layout.total_bytes, section.align);
            layout.total_bytes = layout.offsets[index] + section.size;
            if (layout.total_bytes > elf::max_object_bytes) refuse(section, "is too large");
        }
        layout.total_bytes = round_up(layout.total_bytes, page_bytes);
    };
    place_all(true);
    layout.code_bytes = layout.total_bytes;
    place_all(false);
    return layout;
}

void link(const elf::Object& object, const Layout& layout, std::uint64_t base,
          std::span<std::byte> image) {
    const auto& sections = object.sections();
    const auto content = [&](std::size_t index) {
        return image.subspan(layout.offsets[index], sections[index].size);
    };
    for (std::size_t index = 0; index < sections.size(); ++index) {
        if (layout.placed[index]) std::ranges::copy(sections[index].data, content(index).begin());
    }
    for (const elf::Section& table : sections) {
        if (!patches_image(table, layout)) continue;
        const Destination to{sections[table.info], base + layout.offsets[table.info],
                             content(table.info)};
        for (const elf::Relocation& relocation : object.relocations(table)) {
            const elf::Symbol& symbol = object.symbols()[relocation.symbol];
            apply_one(object, relocation, base + offset_of(symbol, layout), to);
        }
    }
}

std::vector<CodeSymbol> functions(const elf::Object& object, const Layout& layout) {
    std::vector<CodeSymbol> found;
    for (const elf::Symbol& symbol : object.symbols()) {
        if (symbol.type != STT_FUNC || symbol.binding == STB_LOCAL || !symbol.defined()) continue;
        const std::uint64_t offset = offset_of(symbol, layout);
        if (!object.sections()[symbol.section].has(SHF_EXECINSTR) || symbol.size == 0) {
            throw ObjectError("function '" + std::string(symbol.name) + "' has no code");
        }
        found.push_back({std::string(symbol.name), offset, symbol.size});
    }
    std::ranges::sort(found, {}, &CodeSymbol::name);
    const auto twice = std::ranges::adjacent_find(found, {}, &CodeSymbol::name);
    if (twice != found.end()) throw ObjectError("symbol '" + twice->name + "' is defined twice");
    return found;
}

// ---- mapping ---------------------------------------------------------------------------------

Mapping::Mapping(std::size_t bytes) {
    void* const start =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) throw_errno("mmap");
    bytes_ = {static_cast<std::byte*>(start), bytes};
}

Mapping::Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
}

Mapping::~Mapping() {
    if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

void Mapping::seal(std::size_t code_bytes) {
    const auto code = bytes_.first(code_bytes);
    auto* const start = reinterpret_cast<char*>(code.data());
    __builtin___clear_cache(start, start + code.size());  // aarch64: instructions are cached apart
    protect(code, PROT_READ | PROT_EXEC);
    protect(bytes_.subspan(code_bytes), PROT_READ);
}

// ---- loading ---------------------------------------------------------------------------------

CodeObject CodeObject::load(elf::Bytes bytes) {
    const elf::Object object(bytes);
    if (!is_this_machine(object.machine())) {
        throw ObjectError(std::string("code for ") + name_of(object.machine()) +
                          " does not run on this machine");
    }
    const Layout layout = lay_out(object, page_bytes());
    if (layout.code_bytes == 0) throw ObjectError("the object has no code");
    Mapping mapping(layout.total_bytes);
    link(object, layout, mapping.address(), mapping.bytes());
    mapping.seal(layout.code_bytes);
    return {std::move(mapping), functions(object, layout)};
}

const void* CodeObject::find(std::string_view name) const noexcept {
    const auto found = std::ranges::lower_bound(symbols_, name, {}, &CodeSymbol::name);
    if (found == symbols_.end() || found->name != name) return nullptr;
    return mapping_.bytes().data() + found->offset;
}

}  // namespace anyshape
