// Which CPU this is, as far as generated code can tell.
//
// Ownership: returns a value. Thread-safety: re-entrant, no state; call it from any thread.
#pragma once

#include <string>

namespace anyshape {

// Equal on two machines if the same native code suits both: maker, model, every feature word, and
// the register state that the operating system saves. It names the CPU in keys of cached code, and
// costs microseconds, where asking LLVM would first load LLVM. Not meant to be taken apart.
std::string cpu_identity();

}  // namespace anyshape
