// What calls of programs and of courses have in common. Binding layer.
//
// Thread-safety: needs the GIL, but for signals_raise().
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bind/gil.h"
#include "core/runner.h"
#include "core/stop.h"

namespace anyshape {

struct BoundProgram {
    std::unique_ptr<Runner> runner;
    std::vector<nanobind::object> input_dtypes;
    std::vector<nanobind::object> output_dtypes;
    nanobind::object keep;  // whatever owns kernels and constants
};

// Leaves the run with its specialization.
inline void prepare(Run& run) {
    if (run.find()) return;
    const WithoutGil released;
    run.prepare();
}

// Someone may want to interrupt what takes longer, or what nobody knows about.
inline bool worth_interrupting(const Specialization& specialization) {
    constexpr std::int64_t picoseconds = 10'000'000'000;
    return specialization.cost == unknown_cost || specialization.cost >= picoseconds;
}

inline bool signals_raise(void* without_gil) noexcept {
    return static_cast<WithoutGil*>(without_gil)->signals_raise();
}

// `deadline` is Python's time.monotonic_ns().
inline Stop::Limits limits_of(std::optional<std::int64_t> deadline,
                              const Cancellation* cancellation) {
    Stop::Limits limits{.cancellation = cancellation};
    if (deadline) limits.deadline = Stop::Clock::time_point(std::chrono::nanoseconds(*deadline));
    return limits;
}

}  // namespace anyshape
