// What can go wrong in level 2, as values: fields from which Python composes the message.
//
// Ownership: plain values; nothing refers to the program or to the run.
// Thread-safety: a failure may be thrown on one thread and read on several others.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace anyshape {

// The description of a program contradicts itself. Thrown when a Program is made, never later.
class MalformedProgram : public std::invalid_argument {
   public:
    using std::invalid_argument::invalid_argument;
};

enum class Stage : std::uint8_t { bind, shape };

// A check of the generated code failed. `values` are what that code was given: the sizes of all
// inputs, one after the other, in `bind`; the symbols in `shape`.
class CheckFailed : public std::runtime_error {
   public:
    CheckFailed(Stage stage, std::int64_t check, std::vector<std::int64_t> values)
        : std::runtime_error("a check of the shape program failed"),
          stage(stage),
          check(check),
          values(std::move(values)) {}

    Stage stage;
    std::int64_t check;
    std::vector<std::int64_t> values;
};

// A number of the shape program that nothing can be done with: a size that is negative or beyond
// 2^62 bytes, a variant that does not exist, an alias that leaves its buffer.
class ImpossibleSize : public std::runtime_error {
   public:
    ImpossibleSize(std::string subject, std::int64_t value)
        : std::runtime_error(subject + ": " + std::to_string(value)),
          subject(std::move(subject)),
          value(value) {}

    std::string subject;  // "bytes of buffer 3", "tasks of step 2 (gelu)"
    std::int64_t value;
};

// What a run needs of memory.
struct NeededBytes {
    std::int64_t arena = 0;
    std::int64_t outputs = 0;
    std::int64_t copies = 0;  // of inputs that are not contiguous
};

// A run needs more memory than it may have. Thrown before any of it is taken.
class MemoryLimitExceeded : public std::runtime_error {
   public:
    MemoryLimitExceeded(NeededBytes bytes, std::int64_t limit, std::vector<std::int64_t> symbols)
        : std::runtime_error("a run needs more memory than it may have"),
          bytes(bytes),
          limit(limit),
          symbols(std::move(symbols)) {}

    NeededBytes bytes;
    std::int64_t limit;
    std::vector<std::int64_t> symbols;
};

// A run needs more memory than the system has for it. Thrown before that memory is touched.
class MemoryUnavailable : public std::runtime_error {
   public:
    MemoryUnavailable(NeededBytes bytes, std::int64_t available, std::vector<std::int64_t> symbols)
        : std::runtime_error("a run needs more memory than there is"),
          bytes(bytes),
          available(available),
          symbols(std::move(symbols)) {}

    NeededBytes bytes;
    std::int64_t available;  // what its context holds included
    std::vector<std::int64_t> symbols;
};

}  // namespace anyshape
