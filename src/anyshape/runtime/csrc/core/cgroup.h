// The control groups of this process: where the files lie that limit it.
//
// Ownership: plain values.
// Thread-safety: re-entrant, no state.
// Failure: a file that is missing or malformed is a source with nothing to say, not an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace anyshape {

enum class CgroupVersion : std::uint8_t { v1, v2 };

// The directories of the groups that `controller` ("cpu", "memory") limits this process by, from
// the hierarchy's root down to its own. Limits nest: none of them may be exceeded. Only what is in
// view: inside a container that is often the container's own group alone.
std::vector<std::filesystem::path> cgroup_directories(const std::filesystem::path& root,
                                                      std::string_view controller,
                                                      CgroupVersion version);

}  // namespace anyshape
