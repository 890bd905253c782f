#include "bind/python_failures.h"

#include <nanobind/stl/string.h>

#include <new>

#include "core/failures.h"
#include "core/stop.h"

namespace nb = nanobind;

namespace anyshape {

nb::tuple as_tuple(std::span<const std::int64_t> values) {
    nb::list list;
    for (const std::int64_t value : values) list.append(value);
    return nb::tuple(list);
}

namespace {

template <typename... Fields>
void set_error(const char* name, Fields&&... fields) {
    try {
        raise_failure(name, std::forward<Fields>(fields)...);
    } catch (nb::python_error& error) {
        error.restore();
    }
}

void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const CheckFailed& failed) {
        const char* stage = failed.stage == Stage::bind ? "bind" : "shape";
        set_error("CheckFailedError", stage, failed.check, as_tuple(failed.values));
    } catch (const ImpossibleSize& size) {
        set_error("ImpossibleSizeError", size.subject, size.value);
    } catch (const MemoryLimitExceeded& exceeded) {
        const NeededBytes& bytes = exceeded.bytes;
        set_error("MemoryLimitExceededError", bytes.arena, bytes.outputs, bytes.copies,
                  exceeded.limit, as_tuple(exceeded.symbols));
    } catch (const MemoryUnavailable& lack) {
        set_error("MemoryUnavailableError", lack.bytes.arena, lack.bytes.outputs, lack.bytes.copies,
                  lack.available, as_tuple(lack.symbols));
    } catch (const std::bad_alloc&) {
        set_error("OutOfMemoryError");
    } catch (const Stopped& stopped) {
        if (stopped.reason == StopReason::interrupt) return;  // Python's own exception is set
        if (stopped.reason == StopReason::fork) return set_error("ForkedCallError");
        const bool late = stopped.reason == StopReason::deadline;
        set_error("StoppedError", late ? "deadline" : "cancelled");
    } catch (const MalformedProgram& malformed) {
        set_error("MalformedProgramError", malformed.what());
    }
}

}  // namespace

void translate_failures() { nb::register_exception_translator(translate, nullptr); }

}  // namespace anyshape
