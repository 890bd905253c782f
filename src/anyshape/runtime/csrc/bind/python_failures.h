// Failures as Python exceptions: the classes of anyshape/runtime/failures.py. Binding layer.
//
// Thread-safety: needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <utility>

namespace anyshape {

nanobind::tuple as_tuple(std::span<const std::int64_t> values);

inline nanobind::object failure_class(const char* name) {
    return nanobind::module_::import_("anyshape.runtime.failures").attr(name);
}

// Raises `name(*fields)`. Not for the fast path.
template <typename... Fields>
[[noreturn]] void raise_failure(const char* name, Fields&&... fields) {
    const nanobind::object type = failure_class(name);
    const nanobind::object failure = type(std::forward<Fields>(fields)...);
    PyErr_SetObject(type.ptr(), failure.ptr());
    throw nanobind::python_error();
}

// Makes the exceptions of failures.h arrive in Python as those of the same name.
void translate_failures();

}  // namespace anyshape
