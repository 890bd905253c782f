#include "core/chain_kernels.h"

#include <array>
#include <cstdint>

namespace anyshape {
namespace {

using Words = const std::int64_t*;

// The words of one tile's calls, made one after the other.
class Tile {
   public:
    Tile(Words chain, std::int64_t number, std::int64_t worker)
        : at_(chain + 3),
          first_row_(number * chain[2]),
          last_(chain[1] - first_row_ < chain[2]),
          worker_(worker) {}

    void run_member() {
        const auto kernel = reinterpret_cast<KernelFunction>(at_[0]);
        const std::int64_t tasks = at_[last_ ? 2 : 1];
        const std::int64_t buffers = at_[3], workspaces = at_[4], sizes = at_[5];
        at_ += 6;
        std::int64_t* word = block_.data();
        for (std::int64_t i = 0; i < buffers; ++i, at_ += 3) {
            *word++ = at_[0] + at_[1] * first_row_ + at_[2] * worker_;
        }
        for (std::int64_t i = 0; i < workspaces; ++i, at_ += 3) {
            *word++ = at_[0] + at_[last_ ? 2 : 1] * worker_;
        }
        for (std::int64_t i = 0; i < sizes; ++i, at_ += 2) *word++ = at_[last_ ? 1 : 0];
        kernel(block_.data(), 0, tasks, worker_);
    }

   private:
    Words at_;
    std::int64_t first_row_;
    bool last_;  // has fewer rows than the others
    std::int64_t worker_;
    std::array<std::int64_t, max_member_words> block_;
};

void run_chain(const std::int64_t* block, std::int64_t first, std::int64_t last,
               std::int64_t worker) {
    for (std::int64_t number = first; number < last; ++number) {
        Tile tile(block, number, worker);
        for (std::int64_t member = 0; member < block[0]; ++member) tile.run_member();
    }
}

constexpr NamedKernel kernels[] = {{"chain", run_chain}};

}  // namespace

std::span<const NamedKernel> chain_kernels() noexcept { return kernels; }

}  // namespace anyshape
