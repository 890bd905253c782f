#include "plan_check.h"

namespace anyshape {
namespace {

std::string name(std::size_t buffer) { return "buffer " + std::to_string(buffer); }

}  // namespace

std::optional<std::string> wrong_with_plan(
    std::span<const std::int64_t> bytes,
    std::span<const std::pair<std::uint32_t, std::uint32_t>> conflicts,
    std::span<const std::int64_t> offsets, std::int64_t arena_bytes) {
    if (offsets.size() != bytes.size()) return "not one offset for each buffer";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (offsets[i] < 0) return name(i) + " lies before the arena";
        if (offsets[i] % 64 != 0) return name(i) + " is not aligned";
        if (offsets[i] > arena_bytes - bytes[i]) return name(i) + " ends after the arena";
    }
    for (const auto& [a, b] : conflicts) {
        const bool a_before_b = offsets[a] + bytes[a] <= offsets[b];
        const bool b_before_a = offsets[b] + bytes[b] <= offsets[a];
        const bool one_is_empty = bytes[a] == 0 || bytes[b] == 0;
        if (!a_before_b && !b_before_a && !one_is_empty) {
            return name(a) + " and " + name(b) + " overlap";
        }
    }
    return std::nullopt;
}

}  // namespace anyshape
