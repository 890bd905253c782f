// One function object of several, for std::visit: each case of a variant has a function of its own.
#pragma once

namespace anyshape {

template <typename... Functions>
struct Overloaded : Functions... {
    using Functions::operator()...;
};

}  // namespace anyshape
