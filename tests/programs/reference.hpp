// What references are written with: tensors read and made by index, borders, the rows of the catalogue.
#pragma once

#include <array>
#include <cmath>
#include <tuple>

#include "programs/catalogue.hpp"

namespace lift::programs {

using Int = std::int64_t;
using Reference = std::function<Tensors(const Tensors&)>;
using Prepare = std::function<void(Tensors&)>;

// A tensor read with one index per dimension.
class Grid {
 public:
  Grid(const Tensors& tensors, const std::string& name) : tensor_(tensors.at(name)) {}
  template <class... I>
  double operator()(I... indices) const {
    Int place = 0;
    std::size_t dimension = 0;
    ((place = place * tensor_.shape.at(dimension++) + indices), ...);
    return tensor_.get(place);
  }
  Int size(std::size_t dimension) const { return tensor_.shape.at(dimension); }
  // Zero outside of the first two dimensions.
  template <class... I>
  double orZero(Int i, Int j, I... more) const {
    return 0 <= i && i < size(0) && 0 <= j && j < size(1) ? (*this)(i, j, more...) : 0.0;
  }

 private:
  const Tensor& tensor_;
};

// A tensor of f(i, j, …).
template <std::size_t N, class F>
Tensor make(const std::array<Int, N>& shape, Scalar scalar, const F& f) {
  Tensor out(scalar, {shape.begin(), shape.end()});
  for (Int place = 0; place < out.size(); place++) {
    std::array<Int, N> index{};
    Int rest = place;
    for (std::size_t k = N; k-- > 0; rest /= shape[k]) index[k] = rest % shape[k];
    out.set(place, static_cast<double>(std::apply(f, index)));
  }
  return out;
}

template <std::size_t N, class F>
Tensor make(const std::array<Int, N>& shape, const F& f) {
  return make(shape, Scalar::f32, f);
}
inline Tensor single(double value, Scalar scalar = Scalar::f32) {
  return make(std::array<Int, 0>{}, scalar, [&] { return value; });
}
inline Tensors out(double value) { return {{"out", single(value)}}; }
template <class... A>
Tensors out(const A&... shapeAndElements) {
  return {{"out", make(shapeAndElements...)}};
}

// Numbers by index.
struct Vector : std::vector<double> {
  using std::vector<double>::vector;
  double& operator[](Int i) { return at(static_cast<std::size_t>(i)); }
  double operator[](Int i) const { return at(static_cast<std::size_t>(i)); }
};
template <class F>
Vector vectorOf(Int n, const F& f) {
  Vector v;
  for (Int i = 0; i < n; i++) v.push_back(f(i));
  return v;
}
inline Vector vectorOf(const Grid& x) {
  return vectorOf(x.size(0), [&](Int i) { return x(i); });
}
inline Tensor make(const Vector& v, Scalar scalar = Scalar::f32) {
  return make(std::array{std::ssize(v)}, scalar, [&](Int i) { return v[i]; });
}

using A1 = std::array<Int, 1>;
using A2 = std::array<Int, 2>;
using A3 = std::array<Int, 3>;
using A4 = std::array<Int, 4>;
using A6 = std::array<Int, 6>;

template <class F>
double sum(Int n, const F& f) {
  double total = 0;
  for (Int i = 0; i < n; i++) total += f(i);
  return total;
}

inline Int clamp(Int i, Int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

// Steps back into the array one reflection at a time: the edge element comes twice.
inline Int mirror(Int i, Int n) {
  while (i < 0 || i >= n) i = i < 0 ? -1 - i : 2 * n - 1 - i;
  return i;
}

inline Int wrap(Int i, Int n) {
  while (i < 0) i += n;
  while (i >= n) i -= n;
  return i;
}

// Error that a chain of so many roundings of numbers about one can make.
inline double after(int roundings) { return 0x1p-23 * (4 + roundings); }

using Border = Int (*)(Int, Int);

// weight(i, j) on the neighbourhood of h by w around each pixel, read through a border.
template <class Weight>
Tensors filtered(const Grid& image, Int h, Int w, Border border, const Weight& weight) {
  const Int height = image.size(0), width = image.size(1);
  return out(A2{height, width}, [&](Int y, Int x) {
    return sum(h, [&](Int i) {
      return sum(
          w, [&](Int j) { return weight(i, j) * image(border(y + i - h / 2, height), border(x + j - w / 2, width)); });
    });
  });
}

inline double product(const Grid& a, bool transposeA, const Grid& b, bool transposeB, Int k, Int i, Int j) {
  return sum(k, [&](Int l) { return (transposeA ? a(l, i) : a(i, l)) * (transposeB ? b(j, l) : b(l, j)); });
}

inline void absolute(Tensors& inputs, const std::string& name) {
  Tensor& t = inputs.at(name);
  for (Int i = 0; i < t.size(); i++) t.set(i, std::fabs(t.get(i)));
}

// From [-1, 1) to [low, high).
inline void rescale(Tensors& inputs, const std::string& name, double low, double high) {
  Tensor& t = inputs.at(name);
  for (Int i = 0; i < t.size(); i++) t.set(i, low + (high - low) * (t.get(i) + 1) / 2);
}

// What programs compute, in plain loops over doubles, with no word of the language. The roundings are those of a chain
// of operations on numbers about one; `prepare` changes the inputs.
class Table {
 public:
  void add(const std::string& file, const std::string& entry, const std::vector<Sizes>& sizes, int roundings,
           const Prepare& prepare, const Reference& reference) {
    for (const Sizes& s : sizes) rows_.push_back({file, entry, s, reference, after(roundings), prepare});
  }
  void add(const std::string& file, const std::string& entry, const std::vector<Sizes>& sizes, int roundings,
           const Reference& reference) {
    add(file, entry, sizes, roundings, {}, reference);
  }
  void addExact(const std::string& file, const std::string& entry, const std::vector<Sizes>& sizes,
                const Prepare& prepare, const Reference& reference) {
    for (const Sizes& s : sizes) rows_.push_back({file, entry, s, reference, 0, prepare});
  }
  void addExact(const std::string& file, const std::string& entry, const std::vector<Sizes>& sizes,
                const Reference& reference) {
    addExact(file, entry, sizes, {}, reference);
  }
  const std::vector<CatalogueEntry>& rows() const { return rows_; }

 private:
  std::vector<CatalogueEntry> rows_;
};

// The files references_*.cpp.
void addBasics(Table& table);
void addApplications(Table& table);
void addStencils(Table& table);
void addLayers(Table& table);
void addPlans(Table& table);
void addGuards(Table& table);
void addLearning(Table& table);
void addImages(Table& table);
void addNumbers(Table& table);
void addLibrary(Table& table);
void addProducts(Table& table);
void addScience(Table& table);

}  // namespace lift::programs
