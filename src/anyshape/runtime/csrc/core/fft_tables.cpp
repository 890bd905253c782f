#include "core/fft_tables.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <list>
#include <map>
#include <mutex>
#include <numbers>
#include <tuple>
#include <utility>

#include "core/fork_safe.h"

namespace anyshape {
namespace {

using Complex = std::complex<double>;

// exp(-2 pi i k / length), from an angle within an eighth of the circle.
Complex root_of_unity(std::int64_t k, std::int64_t length) {
    k %= length;
    const std::int64_t octant = 8 * k / length;
    const auto at = [&](std::int64_t eighths) {
        return 2 * std::numbers::pi * (static_cast<double>(eighths) / static_cast<double>(length));
    };
    const std::int64_t quarter = (octant + 1) / 2;  // the nearest one
    const double angle = at(4 * k - quarter * length) / 4;
    const double c = std::cos(angle), s = std::sin(angle);
    switch (quarter % 4) {
        case 0: return {c, -s};
        case 1: return {-s, -c};
        case 2: return {-c, s};
        default: return {s, c};
    }
}

// All roots of a length, each as a product of two that are computed once.
class Roots {
   public:
    explicit Roots(std::int64_t length) : length_(length) {
        for (std::int64_t k = 0; k < std::min(fine, length); ++k) {
            fine_.push_back(root_of_unity(k, length));
        }
        for (std::int64_t k = 0; k < length; k += fine) coarse_.push_back(root_of_unity(k, length));
    }

    Complex at(std::int64_t k) const {
        k %= length_;
        return coarse_[static_cast<std::size_t>(k / fine)] *
               fine_[static_cast<std::size_t>(k % fine)];
    }

   private:
    static constexpr std::int64_t fine = 1024;

    std::int64_t length_;
    std::vector<Complex> fine_, coarse_;
};

template <typename T>
void append(std::vector<T>& numbers, Complex value) {
    numbers.push_back(static_cast<T>(value.real()));
    numbers.push_back(static_cast<T>(value.imag()));
}

std::vector<std::int64_t> primes_of(std::int64_t length) {
    std::vector<std::int64_t> found;
    for (std::int64_t prime = 2; prime * prime <= length; ++prime) {
        for (; length % prime == 0; length /= prime) found.push_back(prime);
    }
    if (length > 1) found.push_back(length);
    return found;
}

// Twos are taken by threes, or by pairs where that leaves one over.
std::vector<std::int64_t> radices_of(std::int64_t length) {
    std::vector<std::int64_t> radices = primes_of(length);
    const auto twos = std::count(radices.begin(), radices.end(), 2);
    radices.erase(radices.begin(), radices.begin() + twos);
    auto fours = twos % 3 == 2 ? 1 : (twos % 3 == 1 && twos > 1 ? 2 : 0);
    auto eights = (twos - 2 * fours) / 3;
    if (twos == 1) radices.insert(radices.begin(), 2);
    radices.insert(radices.begin(), static_cast<std::size_t>(fours), 4);
    radices.insert(radices.begin(), static_cast<std::size_t>(eights), 8);
    return radices;
}

template <typename T>
FftPasses<T> make_passes(std::int64_t length) {
    FftPasses<T> made;
    made.length = length;
    std::int64_t left = length, stride = 1;
    const Roots roots(length);
    for (const std::int64_t radix : radices_of(length)) {
        const std::int64_t groups = left / radix;
        FftPass pass{radix, groups, stride, static_cast<std::int64_t>(made.roots.size()), 0};
        for (std::int64_t group = 0; group < groups; ++group) {
            for (std::int64_t k = 1; k < radix; ++k) {
                append(made.roots, roots.at(group * k * stride));
            }
        }
        pass.circle = static_cast<std::int64_t>(made.roots.size());
        for (std::int64_t k = 0; k < radix; ++k) append(made.roots, root_of_unity(k, radix));
        made.passes.push_back(pass);
        left = groups;
        stride *= radix;
    }
    return made;
}

// The divisor nearest to the square root, from below.
std::int64_t side_of(std::int64_t length) {
    auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(length)));
    while (side > 1 && (side * side > length || length % side != 0)) --side;
    return std::max<std::int64_t>(side, 1);
}

template <typename T>
void make_matrix(FftLine<T>& line, std::int64_t rows, std::int64_t lanes) {
    constexpr std::int64_t block = 16 / sizeof(T);
    line.rows = rows;
    line.columns = line.length / rows;
    line.passes = make_passes<T>(rows);
    line.row_passes = make_passes<T>(line.columns);
    line.turns.reserve(static_cast<std::size_t>(2 * rows * (line.columns + lanes)));
    const Roots roots(line.length);
    std::vector<T> other_parts(static_cast<std::size_t>(lanes));
    for (std::int64_t tile = 0; tile < line.columns; tile += lanes) {
        const std::int64_t first = std::min(tile, line.columns - lanes);
        for (std::int64_t row = 0; row < rows; ++row) {
            for (std::int64_t lane = 0; lane < lanes; ++lane) {
                const std::int64_t column = first + fft_column_of_lane(lane, lanes, block);
                const Complex turn = roots.at(row * column);
                line.turns.push_back(static_cast<T>(turn.real()));
                other_parts[static_cast<std::size_t>(lane)] = static_cast<T>(turn.imag());
            }
            line.turns.insert(line.turns.end(), other_parts.begin(), other_parts.end());
        }
    }
}

// By recursion, for tables only.
std::vector<Complex> transformed(const std::vector<Complex>& x, const Roots& roots,
                                 std::int64_t stride = 1) {
    const auto length = static_cast<std::int64_t>(x.size());
    if (length == 1) return x;
    const std::int64_t radix = primes_of(length).front(), part = length / radix;
    std::vector<std::vector<Complex>> parts;
    for (std::int64_t k = 0; k < radix; ++k) {
        std::vector<Complex> taken;
        for (std::int64_t i = k; i < length; i += radix) taken.push_back(x[i]);
        parts.push_back(transformed(taken, roots, stride * radix));
    }
    std::vector<Complex> result(x.size());
    for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t k = 0; k < radix; ++k) {
            result[i] += parts[k][i % part] * roots.at(i * k * stride);
        }
    }
    return result;
}

// The least 2^k or 3 * 2^k that is no smaller.
std::int64_t convolution_length(std::int64_t least) {
    std::int64_t length = 1;
    while (length < least) length *= 2;
    return length / 4 * 3 >= least ? length / 4 * 3 : length;
}

template <typename T>
void make_chirp(FftLine<T>& line, std::int64_t lanes) {
    using Wide = unsigned __int128;
    const std::int64_t length = line.length, round = convolution_length(2 * length - 1);
    line.convolution = fft_line<T>(round, lanes);
    const Roots roots(2 * length);
    std::vector<Complex> wrapped(static_cast<std::size_t>(round));
    for (std::int64_t k = 0; k < length; ++k) {
        const auto turned = static_cast<std::int64_t>(Wide(k) * Wide(k) % Wide(2 * length));
        const Complex value = roots.at(turned);
        append(line.chirp, value);
        wrapped[static_cast<std::size_t>(k)] = std::conj(value);
        wrapped[static_cast<std::size_t>((round - k) % round)] = std::conj(value);
    }
    for (const Complex& value : transformed(wrapped, Roots(round))) {
        append(line.spectrum, value / static_cast<double>(round));
    }
}

template <typename T>
FftLine<T> make_line(std::int64_t length, std::int64_t lanes) {
    FftLine<T> line;
    line.length = length;
    if (!fft_has_passes(length)) {
        make_chirp(line, lanes);
    } else if (const std::int64_t side = side_of(length); side >= lanes) {
        make_matrix(line, side, lanes);
    } else {
        line.passes = make_passes<T>(length);
    }
    return line;
}

// Points into what the line holds, so a line that is in its place.
template <typename T>
void point(FftLine<T>& line) {
    const FftLineSteps<T>* convolution = line.convolution ? &line.convolution->steps : nullptr;
    line.steps = {line.length,  line.passes.steps(), line.rows,
                  line.columns, line.row_passes.steps(), line.turns.data(),
                  convolution,  line.chirp.data(),   line.spectrum.data()};
}

template <typename T>
FftTurns<T> make_turns(std::int64_t length) {
    FftTurns<T> turns;
    const Roots roots(length);
    for (std::int64_t k = 0; k <= length / 4; ++k) append(turns.numbers, roots.at(k));
    return turns;
}

// Tables by their sizes, those first that were used last.
template <typename Table>
class Cache {
   public:
    using Key = std::pair<std::int64_t, std::int64_t>;

    template <typename Make>
    std::shared_ptr<const Table> get(Key key, Make make) {
        if (auto found = find(key)) return found;
        const std::shared_ptr<const Table> made = make();  // others need not wait for it
        const std::lock_guard lock(mutex_);
        if (const auto at = places_.find(key); at != places_.end()) return at->second->second;
        kept_.emplace_front(key, made);
        places_[key] = kept_.begin();
        bytes_ += made->bytes();
        while (bytes_ > most_bytes && kept_.size() > 1) drop_last();
        return made;
    }

   private:
    static constexpr std::int64_t most_bytes = std::int64_t{64} << 20;

    std::shared_ptr<const Table> find(const Key& key) {
        const std::lock_guard lock(mutex_);
        const auto at = places_.find(key);
        if (at == places_.end()) return nullptr;
        kept_.splice(kept_.begin(), kept_, at->second);
        return at->second->second;
    }

    void drop_last() {
        bytes_ -= kept_.back().second->bytes();
        places_.erase(kept_.back().first);
        kept_.pop_back();
    }

    using Kept = std::list<std::pair<Key, std::shared_ptr<const Table>>>;

    ForkSafeMutex mutex_;
    Kept kept_;
    std::map<Key, typename Kept::iterator> places_;
    std::int64_t bytes_ = 0;
};

template <typename Table>
Cache<Table>& cache_of() {
    static auto* cache = new Cache<Table>;  // used until the process ends, by any thread
    return *cache;
}

template <typename T>
std::int64_t bytes_of(const std::vector<T>& numbers) {
    return static_cast<std::int64_t>(numbers.size() * sizeof(T));
}

}  // namespace

template <typename T>
FftSteps<T> FftPasses<T>::steps() const {
    return {length, passes.data(), static_cast<std::int64_t>(passes.size()), roots.data()};
}

template <typename T>
std::int64_t FftPasses<T>::bytes() const {
    return bytes_of(roots) + bytes_of(passes);
}

template <typename T>
std::int64_t FftLine<T>::bytes() const {
    return passes.bytes() + row_passes.bytes() + bytes_of(turns) + bytes_of(chirp) +
           bytes_of(spectrum);
}

bool fft_has_passes(std::int64_t length) noexcept {
    for (std::int64_t prime = 2; prime <= fft_greatest_prime; ++prime) {
        while (length % prime == 0 && length > 1) length /= prime;
    }
    return length == 1;
}

template <typename T>
std::shared_ptr<const FftPasses<T>> fft_passes(std::int64_t length) {
    return cache_of<FftPasses<T>>().get(
        {length, 0}, [&] { return std::make_shared<const FftPasses<T>>(make_passes<T>(length)); });
}

template <typename T>
std::shared_ptr<const FftLine<T>> fft_line(std::int64_t length, std::int64_t lanes) {
    return cache_of<FftLine<T>>().get({length, lanes}, [&] {
        auto made = std::make_shared<FftLine<T>>(make_line<T>(length, lanes));
        point(*made);
        return made;
    });
}

template <typename T>
std::shared_ptr<const FftTurns<T>> fft_turns(std::int64_t length) {
    return cache_of<FftTurns<T>>().get(
        {length, 0}, [&] { return std::make_shared<const FftTurns<T>>(make_turns<T>(length)); });
}

#define ANYSHAPE_FFT_TABLES(T)                                                    \
    template struct FftPasses<T>;                                                 \
    template struct FftLine<T>;                                                   \
    template std::shared_ptr<const FftPasses<T>> fft_passes<T>(std::int64_t);     \
    template std::shared_ptr<const FftLine<T>> fft_line<T>(std::int64_t, std::int64_t); \
    template std::shared_ptr<const FftTurns<T>> fft_turns<T>(std::int64_t);

ANYSHAPE_FFT_TABLES(float)
ANYSHAPE_FFT_TABLES(double)

}  // namespace anyshape
