// Particles and signals; extremes, sparse products, acoustics, fractals.
#include "programs/reference.hpp"

namespace lift::programs {
namespace {

// ---- particles and signals

Tensors bodies(const Tensors& in) {
  const Grid dt(in, "dt"), p(in, "position"), v(in, "velocity"), mass(in, "mass");
  const Int n = p.size(0);
  const auto velocity = [&](Int i, Int lane) {
    return v(i, lane) + dt() * sum(n, [&](Int j) {
                          const double r2 =
                              sum(3, [&](Int k) { return (p(j, k) - p(i, k)) * (p(j, k) - p(i, k)); }) + 0.01;
                          return (p(j, lane) - p(i, lane)) * mass(j) / (r2 * std::sqrt(r2));
                        });
  };
  return {{"out.0", make(A2{n, 4}, [&](Int i, Int lane) { return p(i, lane) + dt() * velocity(i, lane); })},
          {"out.1", make(A2{n, 4}, velocity)}};
}

void particles(Table& table) {
  const Prepare flat = [](Tensors& in) {
    for (const char* name : {"position", "velocity"})
      for (Int i = 3; i < in.at(name).size(); i += 4) in.at(name).set(i, 0);
    absolute(in, "mass");
  };
  // Close bodies multiply errors of their distance by its inverse third power.
  table.add("nbody", "main", {{{"n", 64}}, {{"n", 1}}, {{"n", 17}}}, 1000, flat, bodies);
  table.add("nbody", "tiled", {{{"n", 64}}, {{"n", 8}}}, 1000, flat, bodies);

  table.add("mriq", "phiMag", {{{"k", 128}}}, 3, [](const Tensors& in) {
    const Grid r(in, "phiR"), i(in, "phiI");
    return out(A1{r.size(0)}, [&](Int k) { return r(k) * r(k) + i(k) * i(k); });
  });
  // The phase is up to six turns: its rounding counts twenty-fold in every term.
  table.add("mriq", "q", {{{"n", 64}, {"k", 128}}, {{"n", 3}, {"k", 1}}}, 20 * 128, [](const Tensors& in) {
    const Grid x(in, "x"), y(in, "y"), z(in, "z"), kx(in, "kx"), ky(in, "ky"), kz(in, "kz"), mag(in, "mag");
    const auto phase = [&](Int i, Int k) { return 2 * std::acos(-1.0) * (kx(k) * x(i) + ky(k) * y(i) + kz(k) * z(i)); };
    const Int n = x.size(0), samples = kx.size(0);
    return Tensors{
        {"out.0",
         make(A1{n}, [&](Int i) { return sum(samples, [&](Int k) { return mag(k) * std::cos(phase(i, k)); }); })},
        {"out.1",
         make(A1{n}, [&](Int i) { return sum(samples, [&](Int k) { return mag(k) * std::sin(phase(i, k)); }); })}};
  });
}

// ---- applications

Tensors extremes(const Tensors& in) {
  const Grid x(in, "xs");
  Int least = 0, most = 0;
  for (Int i = 1; i < x.size(0); i++) {
    if (x(i) < x(least)) least = i;
    if (x(i) > x(most)) most = i;
  }
  return {{"out.0.0", single(x(least))},
          {"out.0.1", single(static_cast<double>(least), Scalar::i32)},
          {"out.1.0", single(x(most))},
          {"out.1.1", single(static_cast<double>(most), Scalar::i32)}};
}

// Rows take entries in turn, so that with few entries the last are empty; columns are any.
void compressedRows(Tensors& in) {
  Tensor &starts = in.at("starts"), &columns = in.at("columns");
  const Int rows = starts.size() - 1, entries = columns.size();
  for (Int r = 0; r <= rows; r++) starts.set(r, static_cast<double>(std::min(entries, r * ((entries + rows) / rows))));
  starts.set(rows, static_cast<double>(entries));
  for (Int e = 0; e < entries; e++) columns.set(e, static_cast<double>((e * 7 + 3) % in.at("x").size()));
}

Tensors compressedProduct(const Tensors& in) {
  const Grid starts(in, "starts"), columns(in, "columns"), values(in, "values"), x(in, "x");
  return out(A1{starts.size(0) - 1}, [&](Int r) {
    double total = 0;
    for (auto e = static_cast<Int>(starts(r)); e < static_cast<Int>(starts(r + 1)); e++)
      total += values(e) * x(static_cast<Int>(columns(e)));
    return total;
  });
}

Tensors acoustics(const Tensors& in) {
  const Grid before(in, "before"), now(in, "now");
  const A3 room{now.size(0), now.size(1), now.size(2)};
  return out(room, [&](Int z, Int y, Int x) {
    int neighbours = 0;
    double around = 0;
    for (std::size_t axis = 0; axis < 3; axis++)
      for (const Int step : {-1, 1}) {
        A3 at{z, y, x};
        at[axis] += step;
        if (at[axis] < 0 || at[axis] >= room[axis]) continue;
        neighbours++;
        around += now(at[0], at[1], at[2]);
      }
    const double loss = neighbours < 6 ? 0.95 : 1.0;
    return loss * ((2 - 0.25 * neighbours) * now(z, y, x) + 0.25 * around - loss * before(z, y, x));
  });
}

// In floats, operation by operation: whether a point stays near is a matter of bits.
Tensors mandelbrot(Int h, Int w, Int steps, float pixel, float top) {
  const auto count = [=](Int y, Int x) {
    const float cr = static_cast<float>(x) * pixel - 2, ci = static_cast<float>(y) * pixel - top;
    float a = 0, b = 0;
    int near = 0;
    for (Int k = 0; k < steps; k++) {
      const float aa = a * a, bb = b * b, norm = aa + bb;
      if (!(norm <= 4)) break;
      const float difference = aa - bb, product = 2 * a * b;
      a = difference + cr;
      b = product + ci;
      near++;
    }
    return near;
  };
  return out(A2{h, w}, Scalar::i32, count);
}

void applications(Table& table) {
  table.addExact("argminmax", "main", {{{"n", 64}}, {{"n", 7}}, {{"n", 1}}}, extremes);
  table.add("spmv", "main", {{{"rows", 6}, {"nnz", 40}, {"n", 9}}, {{"rows", 5}, {"nnz", 3}, {"n", 1}}}, 40,
            compressedRows, compressedProduct);
  table.add("acoustic", "main", {{{"d", 5}, {"h", 6}, {"w", 7}}, {{"d", 1}, {"h", 1}, {"w", 3}}}, 20, acoustics);
  for (const auto& [h, w, k] : {A3{13, 17, 20}, A3{1, 1, 1}, A3{4, 5, 100}})
    for (const auto& [entry, pixel, top] :
         {std::tuple("main", 0.1875F, 1.125F), std::tuple("endingEarly", 0.1875F, 1.125F),
          std::tuple("zoomed", 0x1p-8F, 1.0F)})
      table.addExact(
          "mandelbrot", entry, {{{"h", h}, {"w", w}, {"k", k}}},
          [h = h, w = w, k = k, pixel = pixel, top = top](const Tensors&) { return mandelbrot(h, w, k, pixel, top); });
}

}  // namespace

void addApplications(Table& table) {
  particles(table);
  applications(table);
}

}  // namespace lift::programs
