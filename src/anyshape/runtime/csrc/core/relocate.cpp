#include "core/relocate.h"

#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

namespace anyshape {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are written as they are held");

[[noreturn]] void fail(const Patch& patch, const char* problem) {
    throw ObjectError("relocation of type " + std::to_string(patch.type) + " " + problem);
}

template <class Field>
Field get(const Patch& patch) {
    if (patch.field.size() < sizeof(Field)) fail(patch, "lies outside its section");
    Field field;
    std::memcpy(&field, patch.field.data(), sizeof field);
    return field;
}

template <class Field>
void put(const Patch& patch, Field field) {
    if (patch.field.size() < sizeof field) fail(patch, "lies outside its section");
    std::memcpy(patch.field.data(), &field, sizeof field);
}

// Writes a value into a field of its own width, or a narrower one that can hold it.
template <class Field>
void put_checked(const Patch& patch, std::uint64_t value) {
    using Wide = std::conditional_t<std::is_signed_v<Field>, std::int64_t, std::uint64_t>;
    const auto wide = static_cast<Wide>(value);
    if (wide < std::numeric_limits<Field>::min() || wide > std::numeric_limits<Field>::max()) {
        fail(patch, "is out of reach");
    }
    put(patch, static_cast<Field>(wide));
}

std::uint64_t distance(const Patch& patch) { return patch.value - patch.place; }  // modulo 2^64

void apply_x86_64(const Patch& patch) {
    switch (patch.type) {
        case R_X86_64_64: return put(patch, patch.value);
        case R_X86_64_PC64: return put(patch, distance(patch));
        case R_X86_64_PC32:
        case R_X86_64_PLT32: return put_checked<std::int32_t>(patch, distance(patch));
        case R_X86_64_32: return put_checked<std::uint32_t>(patch, patch.value);
        case R_X86_64_32S: return put_checked<std::int32_t>(patch, patch.value);
        default: fail(patch, "(x86-64) is not supported");
    }
}

// ---- aarch64: immediates inside 32-bit instructions ------------------------------------------

constexpr std::uint32_t low_bits(int count) { return (std::uint32_t{1} << count) - 1; }

// Replaces `width` bits of the instruction, from bit `shift` up.
void put_bits(const Patch& patch, std::uint64_t bits, int shift, int width) {
    const auto mask = low_bits(width) << shift;
    const auto field = (static_cast<std::uint32_t>(bits) & low_bits(width)) << shift;
    put(patch, (get<std::uint32_t>(patch) & ~mask) | field);
}

// A branch counts instructions: the two low bits of its distance are zero.
void put_branch(const Patch& patch, int width, int shift) {
    const auto bytes = static_cast<std::int64_t>(distance(patch));
    const std::int64_t reach = std::int64_t{1} << (width + 1);
    if (bytes % 4 != 0) fail(patch, "is misaligned");
    if (bytes < -reach || bytes >= reach) fail(patch, "is out of reach");
    put_bits(patch, static_cast<std::uint64_t>(bytes) >> 2, shift, width);
}

// ADR and ADRP hold 21 bits: the two low ones at 29, the others at 5.
void put_adr(const Patch& patch, std::uint64_t amount) {
    const auto value = static_cast<std::int64_t>(amount);
    if (value < -(1 << 20) || value >= (1 << 20)) fail(patch, "is out of reach");
    put_bits(patch, amount, 29, 2);
    put_bits(patch, amount >> 2, 5, 19);
}

// ADRP counts pages of 4096 bytes; the shift keeps the sign.
void put_page(const Patch& patch) {
    const std::uint64_t page_mask = ~std::uint64_t{0xFFF};
    const auto bytes =
        static_cast<std::int64_t>((patch.value & page_mask) - (patch.place & page_mask));
    put_adr(patch, static_cast<std::uint64_t>(bytes >> 12));
}

// The offset within a page, counted in units of 1 << scale bytes as loads and stores do.
void put_page_offset(const Patch& patch, int scale) {
    const std::uint64_t offset = patch.value & 0xFFF;
    if ((offset & low_bits(scale)) != 0) fail(patch, "is misaligned");
    put_bits(patch, offset >> scale, 10, 12);
}

void apply_aarch64(const Patch& patch) {
    switch (patch.type) {
        case R_AARCH64_ABS64: return put(patch, patch.value);
        case R_AARCH64_PREL64: return put(patch, distance(patch));
        case R_AARCH64_PREL32: return put_checked<std::int32_t>(patch, distance(patch));
        case R_AARCH64_ADR_PREL_LO21: return put_adr(patch, distance(patch));
        case R_AARCH64_ADR_PREL_PG_HI21: return put_page(patch);
        case R_AARCH64_ADD_ABS_LO12_NC:
        case R_AARCH64_LDST8_ABS_LO12_NC: return put_page_offset(patch, 0);
        case R_AARCH64_LDST16_ABS_LO12_NC: return put_page_offset(patch, 1);
        case R_AARCH64_LDST32_ABS_LO12_NC: return put_page_offset(patch, 2);
        case R_AARCH64_LDST64_ABS_LO12_NC: return put_page_offset(patch, 3);
        case R_AARCH64_LDST128_ABS_LO12_NC: return put_page_offset(patch, 4);
        case R_AARCH64_CALL26:
        case R_AARCH64_JUMP26: return put_branch(patch, 26, 0);
        case R_AARCH64_CONDBR19:
        case R_AARCH64_LD_PREL_LO19: return put_branch(patch, 19, 5);
        case R_AARCH64_TSTBR14: return put_branch(patch, 14, 5);
        default: fail(patch, "(aarch64) is not supported");
    }
}

}  // namespace

void apply(elf::Machine machine, const Patch& patch) {
    return machine == elf::Machine::x86_64 ? apply_x86_64(patch) : apply_aarch64(patch);
}

}  // namespace anyshape
