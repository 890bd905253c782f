#include "core/cgroup.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace anyshape {
namespace {

namespace fs = std::filesystem;

// One mounted hierarchy: the cgroup `top` of it is what is seen at `point`. Inside a container,
// `top` is often the container's own group.
struct CgroupMount {
    fs::path top;
    fs::path point;
};

bool contains_item(std::string_view comma_list, std::string_view item) {
    while (!comma_list.empty()) {
        const auto comma = std::min(comma_list.find(','), comma_list.size());
        if (comma_list.substr(0, comma) == item) return true;
        comma_list.remove_prefix(std::min(comma + 1, comma_list.size()));
    }
    return false;
}

// From /proc/self/cgroup, lines of `hierarchy:controllers:/path`: the path of our own cgroup in
// the hierarchy that has the controller.
std::optional<fs::path> own_cgroup(const fs::path& root, std::string_view controller,
                                   CgroupVersion version) {
    std::ifstream file(root / "proc/self/cgroup");
    std::string id, controllers, path;
    while (std::getline(file, id, ':') && std::getline(file, controllers, ':') &&
           std::getline(file, path)) {
        const bool found = version == CgroupVersion::v2 ? id == "0" && controllers.empty()
                                                        : contains_item(controllers, controller);
        if (found) return path;
    }
    return std::nullopt;
}

// From /proc/self/mountinfo, lines of `id parent dev top point options... - type source super`:
// where that hierarchy is mounted.
std::optional<CgroupMount> cgroup_mount(const fs::path& root, std::string_view controller,
                                        CgroupVersion version) {
    std::ifstream file(root / "proc/self/mountinfo");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string id, parent, device, top, point, word, type, source, super_options;
        words >> id >> parent >> device >> top >> point;
        while (words >> word && word != "-") {
        }
        words >> type >> source >> super_options;
        const bool found = version == CgroupVersion::v2
                               ? type == "cgroup2"
                               : type == "cgroup" && contains_item(super_options, controller);
        if (found) return CgroupMount{top, root / fs::path(point).relative_path()};
    }
    return std::nullopt;
}

}  // namespace

std::vector<fs::path> cgroup_directories(const fs::path& root, std::string_view controller,
                                         CgroupVersion version) {
    const auto own = own_cgroup(root, controller, version);
    const auto mount = cgroup_mount(root, controller, version);
    if (!own || !mount) return {};
    std::vector<fs::path> directories{mount->point};
    const fs::path below = own->lexically_relative(mount->top);
    if (below.empty() || *below.begin() == "..") return directories;  // ours is not in view
    for (const fs::path& part : below) directories.push_back(directories.back() / part);
    return directories;
}

}  // namespace anyshape
