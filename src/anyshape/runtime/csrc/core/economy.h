// Specializations for calls that may take less memory than their plan.
//
// Two things need less memory for the same results, bit for bit. A *lean* plan (lean_plan.h) runs
// one step after the other, and some of them twice. And where level 1 has proved that the elements
// along an axis do not see each other, a call may be run in *parts* along it: the steps of a
// smaller size, again and again, on the next part of the inputs and outputs, in the same arena.
// Both together are one longer list of steps, so that runs, threads and limits know nothing of it.
//
// Parts choose their variants by their own size. One that would run another variant than the whole
// is not taken, as it might round otherwise; a chain and its members apart round alike.
//
// Ownership: an Economist refers to a Program. Thread-safety: immutable once made.
#pragma once

#include <cstdint>
#include <memory>

#include "core/lean_plan.h"
#include "core/run_options.h"
#include "core/specialization.h"

namespace anyshape {

class Economist {
   public:
    explicit Economist(std::shared_ptr<const Program> program)
        : program_(std::move(program)), table_(*program_) {}

    // Makes one whose arena has at most `room` bytes, if there is one: that with the least cost.
    // Else the smallest that was found. In the memory of `into`. Throws what specialize() does.
    void within(Specialization& into, std::shared_ptr<const Specialization> usual,
                std::int64_t room, const RunOptions& options) const;

   private:
    const std::shared_ptr<const Program> program_;
    const ValueTable table_;
};

}  // namespace anyshape
