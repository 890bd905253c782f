// A kernel that the runtime brings along, by its name.
#pragma once

#include <cstdint>
#include <string_view>

namespace anyshape {

using KernelFunction = void (*)(const std::int64_t* block, std::int64_t first, std::int64_t last,
                                std::int64_t worker);

struct NamedKernel {
    std::string_view name;  // what it does, and the dtype
    KernelFunction function;
};

}  // namespace anyshape
