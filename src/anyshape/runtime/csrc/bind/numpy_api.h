// NumPy's C interface, one copy for all files of the binding layer. outputs.cpp imports it.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL anyshape_numpy_api
#ifndef ANYSHAPE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include <cstdint>
#include <span>

namespace anyshape {

// NumPy's sizes and ours are the same thing on 64-bit systems only.
static_assert(sizeof(npy_intp) == sizeof(std::int64_t));

inline std::span<const std::int64_t> as_words(const npy_intp* values, std::size_t count) {
    return {reinterpret_cast<const std::int64_t*>(values), count};
}

inline PyArrayObject* as_array(nanobind::handle object) {
    return reinterpret_cast<PyArrayObject*>(object.ptr());
}

inline PyArray_Descr* as_dtype(nanobind::handle dtype) {
    return reinterpret_cast<PyArray_Descr*>(dtype.ptr());
}

}  // namespace anyshape
