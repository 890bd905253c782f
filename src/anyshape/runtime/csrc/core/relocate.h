// Patches one place of code that has been given its addresses.
//
// Ownership: none; the bytes belong to the caller. Thread-safety: no state.
// Failure: an unsupported kind, a field that does not fit into its section, and a value that does
// not fit into its field throw ObjectError; nothing is written then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/elf_object.h"

namespace anyshape {

// Only what LLVM emits for position-independent code whose symbols are all hidden: there is no
// global offset table and there are no stubs.
struct Patch {
    std::uint32_t type = 0;      // R_X86_64_* or R_AARCH64_*
    std::span<std::byte> field;  // from the place to patch to the end of its section
    std::uint64_t place = 0;     // the address that the field has at run time: P
    std::uint64_t value = 0;     // the symbol's address plus the addend: S + A
};

void apply(elf::Machine machine, const Patch& patch);

}  // namespace anyshape
