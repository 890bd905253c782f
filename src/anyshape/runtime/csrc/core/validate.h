// Refuses programs whose parts do not fit together.
//
// Ownership and thread-safety: a pure function.
#pragma once

#include "core/program.h"

namespace anyshape {

// Throws MalformedProgram, which says what is wrong and where.
void validate(const ProgramDescription& program);

}  // namespace anyshape
