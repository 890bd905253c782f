// Frozen values of Python, read by attribute: the parts that all descriptions have in common.
// Binding layer.
//
// Thread-safety: needs the GIL.
// Failure: Misread, which says where; whoever reads a whole description turns it into
// MalformedProgram.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/failures.h"

namespace anyshape::reading {

namespace nb = nanobind;

// ---- what is wrong, and where ----------------------------------------------------------------

// Thrown where a value is read; everyone on the way up says how to get there.
struct Misread {
    std::string path;
    std::string problem;

    void is_within(const std::string& outer) { path = outer + path; }

    [[noreturn]] void raise() const {
        throw MalformedProgram(path.substr(path.starts_with('.') ? 1 : 0) + ": " + problem);
    }
};

[[noreturn]] inline void throw_expected(const char* expected, nb::handle found) {
    throw Misread{.path = {},
                  .problem = std::string("expected ") + expected + ", found " +
                             Py_TYPE(found.ptr())->tp_name};
}

// For a Python error that is set. Errors about memory, and what is no error, are not ours to turn.
[[noreturn]] inline void throw_python_error() {
    nb::python_error error;
    if (error.matches(PyExc_MemoryError) || !error.matches(PyExc_Exception)) throw error;
    const nb::object text = nb::steal(PyObject_ASCII(error.value().ptr()));
    if (!text.is_valid()) throw nb::python_error();
    throw Misread{.path = {}, .problem = PyUnicode_AsUTF8(text.ptr())};
}

// ---- attributes ------------------------------------------------------------------------------

// The name of an attribute, as an argument of a template.
template <std::size_t length>
struct Name {
    char text[length];

    consteval Name(const char (&literal)[length]) { std::copy_n(literal, length, text); }
};

inline PyObject* interned(const char* name) {
    PyObject* string = PyUnicode_InternFromString(name);
    if (string == nullptr) throw nb::python_error();
    return string;
}

// What `read` makes of an attribute. Each name is one Python string as long as the process lives.
template <Name name, typename Read>
auto field(nb::handle object, const Read& read) {
    static PyObject* const key = interned(name.text);
    try {
        PyObject* value = PyObject_GetAttr(object.ptr(), key);
        if (value == nullptr) throw_python_error();
        return read(nb::steal(value));
    } catch (Misread& misread) {
        misread.is_within(std::string(".") + name.text);
        throw;
    }
}

// ---- values ----------------------------------------------------------------------------------

template <typename Number>
Number number(nb::handle value) {
    if (!PyLong_Check(value.ptr())) throw_expected("a number", value);
    int overflow = 0;
    const long long read = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow != 0 || !std::in_range<Number>(read)) {
        throw Misread{.path = {}, .problem = "a number out of range"};
    }
    return static_cast<Number>(read);
}

// An index, or a count.
inline std::uint32_t index(nb::handle value) { return number<std::uint32_t>(value); }

template <typename Function>
Function function(nb::handle value) {
    return reinterpret_cast<Function>(number<std::uintptr_t>(value));
}

inline bool truth(nb::handle value) {
    if (!PyBool_Check(value.ptr())) throw_expected("a bool", value);
    return value.ptr() == Py_True;
}

inline std::string text(nb::handle value) {
    if (!PyUnicode_Check(value.ptr())) throw_expected("a string", value);
    Py_ssize_t length = 0;
    const char* data = PyUnicode_AsUTF8AndSize(value.ptr(), &length);
    if (data == nullptr) throw_python_error();
    return {data, static_cast<std::size_t>(length)};
}

inline std::optional<std::uint32_t> optional_index(nb::handle value) {
    return value.is_none() ? std::nullopt : std::optional(index(value));
}

// Reads a tuple of what `read` reads.
template <typename Read>
auto tuple_of(const Read& read) {
    return [&read](nb::handle tuple) {
        if (!PyTuple_Check(tuple.ptr())) throw_expected("a tuple", tuple);
        const Py_ssize_t length = PyTuple_GET_SIZE(tuple.ptr());
        std::vector<decltype(read(tuple))> results;
        results.reserve(static_cast<std::size_t>(length));
        for (Py_ssize_t i = 0; i < length; ++i) {
            try {
                results.push_back(read(nb::handle(PyTuple_GET_ITEM(tuple.ptr(), i))));
            } catch (Misread& misread) {
                misread.is_within("[" + std::to_string(i) + "]");
                throw;
            }
        }
        return results;
    };
}

inline constexpr auto indices = [](nb::handle tuple) { return tuple_of(index)(tuple); };

}  // namespace anyshape::reading
