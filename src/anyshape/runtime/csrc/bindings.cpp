// The Python face of the native core, and nothing else: names, types and the GIL.
//
// Ownership: values are copied out to Python; no Python object refers into the core.
// Thread-safety: as the functions bound here, see their headers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>

#include "machine.h"

namespace nb = nanobind;

NB_MODULE(_native, module) {
    using anyshape::Machine;

    nb::class_<Machine>(module, "Machine")
        .def_ro("cpus", &Machine::cpus)
        .def_ro("affinity_cpus", &Machine::affinity_cpus)
        .def_ro("cpu_quota", &Machine::cpu_quota)
        .def_prop_ro("l1d_bytes", [](const Machine& m) { return m.caches.l1d; })
        .def_prop_ro("l2_bytes", [](const Machine& m) { return m.caches.l2; })
        .def_prop_ro("l3_bytes", [](const Machine& m) { return m.caches.l3; })
        .def_prop_ro("cache_line_bytes", [](const Machine& m) { return m.caches.line; })
        .def_prop_ro("vector_isa", [](const Machine& m) { return name_of(m.vector_isa); });
    module.def("machine", &anyshape::read_machine);

    // For tests: the parts of machine(), on made-up limits and root directories.
    module.def("_allowed_cpus", &anyshape::allowed_cpus, nb::arg("affinity_cpus"),
               nb::arg("cpu_quota").none());
    module.def("_cgroup_quota", &anyshape::cgroup_cpu_quota, nb::arg("root"));
    module.def(
        "_cache_sizes",
        [](const std::filesystem::path& root) {
            const anyshape::CacheSizes caches = anyshape::sysfs_cache_sizes(root);
            return nb::make_tuple(caches.l1d, caches.l2, caches.l3, caches.line);
        },
        nb::arg("root"));
}
