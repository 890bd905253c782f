// The Python face of the native core, and nothing else: names, types and the GIL.
//
// Ownership: values are copied out to Python; no Python object refers into the core.
// Thread-safety: as the functions bound here, see their headers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bind/bind_course.h"
#include "bind/bind_program.h"
#include "core/available_memory.h"
#include "core/chain_kernels.h"
#include "core/check_kernels.h"
#include "core/compact_kernels.h"
#include "core/cpu_identity.h"
#include "core/fft_kernels.h"
#include "core/machine.h"
#include "core/nms_kernels.h"
#include "core/object.h"
#include "core/search_kernels.h"
#include "core/sort_kernels.h"
#include "core/team.h"
#include "core/worklist_kernels.h"

namespace nb = nanobind;

namespace {

anyshape::elf::Bytes bytes_of(const nb::bytes& object) {
    return {static_cast<const std::byte*>(object.data()), object.size()};
}

void bind_code(nb::module_& module) {
    using anyshape::CodeObject;

    nb::exception<anyshape::ObjectError>(module, "ObjectError");
    nb::class_<CodeObject>(module, "CodeObject")
        .def_static("load",
                    [](const nb::bytes& object) { return CodeObject::load(bytes_of(object)); })
        .def("find",
             [](const CodeObject& code, std::string_view name) {
                 return reinterpret_cast<std::uintptr_t>(code.find(name));
             })
        .def_prop_ro("symbols",
                     [](const CodeObject& code) {
                         nb::list list;
                         for (const anyshape::CodeSymbol& symbol : code.symbols()) {
                             list.append(nb::make_tuple(symbol.name, code.address() + symbol.offset,
                                                        symbol.size));
                         }
                         return list;
                     })
        .def_prop_ro("size", &CodeObject::size);

    // For tests: the image of an object linked for a made-up address, of any machine; not executed.
    module.def("_link", [](const nb::bytes& bytes, std::uint64_t base) {
        const anyshape::elf::Object object(bytes_of(bytes));
        const anyshape::Layout layout = anyshape::lay_out(object, 4096);
        std::vector<std::byte> image(layout.total_bytes);
        anyshape::link(object, layout, base, image);
        anyshape::functions(object, layout);
        return nb::bytes(image.data(), image.size());
    });
}

}  // namespace

NB_MODULE(_native, module) {
    using anyshape::Machine;

    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        throw nb::import_error("anyshape runs in the main interpreter only");
    }
    // When the process ends, threads may still be inside calls: what they hold is no leak.
    nb::set_leak_warnings(false);

    nb::class_<Machine>(module, "Machine")
        .def_ro("cpus", &Machine::cpus)
        .def_ro("affinity_cpus", &Machine::affinity_cpus)
        .def_ro("cpu_quota", &Machine::cpu_quota)
        .def_prop_ro("l1d_bytes", [](const Machine& m) { return m.caches.l1d; })
        .def_prop_ro("l2_bytes", [](const Machine& m) { return m.caches.l2; })
        .def_prop_ro("l3_bytes", [](const Machine& m) { return m.caches.l3; })
        .def_prop_ro("cache_line_bytes", [](const Machine& m) { return m.caches.line; })
        .def_prop_ro("vector_isa", [](const Machine& m) { return name_of(m.vector_isa); })
        .def_ro("byte_products", &Machine::byte_products);
    module.def("machine", &anyshape::read_machine);
    module.def("cpu_identity", &anyshape::cpu_identity);
    module.def("cpu_level", &anyshape::cpu_level);
    module.def(
        "take_affinity",
        [](const std::vector<int>& cpus) { return anyshape::Team::take_affinity(cpus); },
        nb::arg("cpus"));
    module.def("affinity", &anyshape::Team::affinity);
    module.def(
        "prepare_team", [](int members) { anyshape::Team::process().prepare(members); },
        nb::arg("members"), nb::call_guard<nb::gil_scoped_release>());
    module.attr("source_identity") = ANYSHAPE_SOURCE_IDENTITY;
    module.def(
        "lacking_memory",
        [](std::size_t bytes) -> std::optional<std::int64_t> {
            try {
                anyshape::CallMemory::require(bytes);
            } catch (const anyshape::NotAvailable& lack) {
                return lack.available;
            }
            return std::nullopt;
        },
        nb::arg("bytes"));
    module.def("native_kernels", [] {
        nb::dict addresses;
        for (const auto kernels :
             {anyshape::sort_kernels(), anyshape::check_kernels(), anyshape::chain_kernels(),
              anyshape::compact_kernels(), anyshape::worklist_kernels(), anyshape::nms_kernels(),
              anyshape::fft_kernels(), anyshape::search_kernels()}) {
            for (const anyshape::NamedKernel& kernel : kernels) {
                addresses[nb::str(kernel.name.data(), kernel.name.size())] =
                    reinterpret_cast<std::uintptr_t>(kernel.function);
            }
        }
        return addresses;
    });
    bind_code(module);
    anyshape::bind_program(module);
    anyshape::bind_course(module);

    // For tests: the parts of machine(), on made-up limits and root directories.
    module.def("_allowed_cpus", &anyshape::allowed_cpus, nb::arg("affinity_cpus"),
               nb::arg("cpu_quota").none());
    module.def("_cgroup_quota", &anyshape::cgroup_cpu_quota, nb::arg("root"));
    module.def("_available_memory", &anyshape::available_memory, nb::arg("root"));
    module.def(
        "_cache_sizes",
        [](const std::filesystem::path& root) {
            const anyshape::CacheSizes caches = anyshape::sysfs_cache_sizes(root);
            return nb::make_tuple(caches.l1d, caches.l2, caches.l3, caches.line);
        },
        nb::arg("root"));
}
