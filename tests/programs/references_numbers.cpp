// Finance, graphs, signals, sorting, integers, geometry.
#include <fmt/format.h>

#include "programs/reference.hpp"

namespace lift::programs {
namespace {

// ---- finance

double normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

Tensors blackScholes(const Tensors& in) {
  const Grid rate(in, "rate"), volatility(in, "volatility");
  const Grid price(in, "options.0"), strike(in, "options.1"), time(in, "options.2");
  const auto value = [&](Int i, bool call) {
    const double s = volatility() * std::sqrt(time(i));
    const double d1 = (std::log(price(i) / strike(i)) + (rate() + volatility() * volatility() / 2) * time(i)) / s;
    const double sign = call ? 1 : -1;
    return sign * (price(i) * normal(sign * d1) - strike(i) * std::exp(-rate() * time(i)) * normal(sign * (d1 - s)));
  };
  const A1 n{price.size(0)};
  return {{"out.0", make(n, [&](Int i) { return value(i, true); })},
          {"out.1", make(n, [&](Int i) { return value(i, false); })}};
}

// European puts, as the tree approaches them: the sum over all ends of their probability times their value.
Tensors binomial(const Tensors& in, Int steps) {
  const Grid rate(in, "rate"), volatility(in, "volatility");
  const Grid price(in, "options.0"), strike(in, "options.1"), time(in, "options.2");
  return out(A1{price.size(0)}, [&](Int i) {
    const auto count = static_cast<double>(steps);
    const double dt = time(i) / count, up = std::exp(volatility() * std::sqrt(dt));
    const double p = (std::exp(rate() * dt) - 1 / up) / (up - 1 / up);
    return std::exp(-rate() * time(i)) * sum(steps + 1, [&](Int k) {
             const auto ups = static_cast<double>(k);
             const double ways = std::lgamma(count + 1) - std::lgamma(ups + 1) - std::lgamma(count - ups + 1);
             const double probability = std::exp(ways) * std::pow(p, ups) * std::pow(1 - p, count - ups);
             return probability * std::max(strike(i) - price(i) * std::pow(up, 2 * ups - count), 0.0);
           });
  });
}

void finance(Table& table) {
  const Prepare market = [](Tensors& in) {
    rescale(in, "rate", 0.01, 0.05), rescale(in, "volatility", 0.2, 0.4);
    rescale(in, "options.0", 1, 3), rescale(in, "options.1", 1, 3), rescale(in, "options.2", 0.5, 2);
  };
  // The approximation of the normal distribution is good to 7.5e-8.
  table.add("options", "blackScholes", {{{"n", 100}}, {{"n", 1}}}, 40, market, blackScholes);
  for (const Int steps : {16, 5})
    table.add("options", "binomial", {{{"n", 7}, {"steps", steps}}}, 200, market,
              [steps](const Tensors& in) { return binomial(in, steps); });
  table.add(
      "drawdown", "main", {{{"n", 500}}, {{"n", 1}}}, 4, [](Tensors& in) { rescale(in, "prices", 1, 2); },
      [](const Tensors& in) {
        const Grid p(in, "prices");
        Vector below;
        double high = 0, most = 0;
        for (Int i = 0; i < p.size(0); i++) {
          high = std::max(high, p(i));
          below.push_back((high - p(i)) / high);
          most = std::max(most, below.back());
        }
        return Tensors{{"out.0", make(below)}, {"out.1", single(most)}};
      });
}

// ---- graphs, linear systems, signals

Tensors ranks(const Tensors& in) {
  const Grid starts(in, "starts"), sources(in, "sources"), degrees(in, "degrees"), rank(in, "ranks");
  const Int n = rank.size(0);
  const auto count = static_cast<double>(n);
  const double dangling = sum(n, [&](Int i) { return degrees(i) == 0 ? rank(i) : 0.0; });
  return out(A1{n}, [&](Int r) {
    double total = dangling / count;
    for (auto e = static_cast<Int>(starts(r)); e < static_cast<Int>(starts(r + 1)); e++) {
      const auto from = static_cast<Int>(sources(e));
      total += degrees(from) == 0 ? 0.0 : rank(from) / degrees(from);
    }
    return 0.15 / count + 0.85 * total;
  });
}
// Every vertex but each fifth links to some others.
void links(Tensors& in) {
  Tensor &starts = in.at("starts"), &sources = in.at("sources"), &degrees = in.at("degrees");
  const Int n = degrees.size(), m = sources.size();
  for (Int r = 0; r <= n; r++) starts.set(r, static_cast<double>(m * r * r / (n * n)));
  for (Int v = 0; v < n; v++) degrees.set(v, 0);
  for (Int e = 0; e < m; e++) {
    const Int from = (e * 7 + 3) % n / 5 * 5 % n + (n > 1 ? 1 : 0) * ((e * 3) % std::min<Int>(4, n));
    sources.set(e, static_cast<double>(from % n));
    degrees.set(from % n, degrees.get(from % n) + 1);
  }
  rescale(in, "ranks", 0, 1);
}

Tensors shortestPaths(const Tensors& in) {
  const Grid d(in, "distances");
  const Int n = d.size(0);
  Vector best = vectorOf(n * n, [&](Int i) { return d(i / n, i % n); });
  const auto at = [&](Int i, Int j) -> double& { return best[i * n + j]; };
  for (Int k = 0; k < n; k++)
    for (Int i = 0; i < n; i++)
      for (Int j = 0; j < n; j++) at(i, j) = std::min(at(i, j), at(i, k) + at(k, j));
  return out(A2{n, n}, at);
}

Tensors decomposed(const Tensors& in) {
  const Grid a(in, "a");
  const Int n = a.size(0);
  Vector m = vectorOf(n * n, [&](Int i) { return a(i / n, i % n); });
  const auto at = [&](Int i, Int j) -> double& { return m[i * n + j]; };
  for (Int k = 0; k < n; k++)
    for (Int i = k + 1; i < n; i++) {
      at(i, k) /= at(k, k);
      for (Int j = k + 1; j < n; j++) at(i, j) -= at(i, k) * at(k, j);
    }
  return out(A2{n, n}, at);
}

// Adds to the diagonal, so that nothing is divided by a small number.
Prepare dominant(const std::string& name) {
  return [name](Tensors& in) {
    Tensor& a = in.at(name);
    const Int n = a.shape[0];
    for (Int i = 0; i < n; i++) a.set(i * n + i, 3 + a.get(i * n + i));
    for (Int i = 0; i < a.size(); i++) a.set(i, a.get(i) / 4);
  };
}

void linear(Table& table) {
  table.add("pagerank", "main", {{{"n", 20}, {"m", 70}}, {{"n", 1}, {"m", 1}}}, 70, links, ranks);
  for (const char* entry : {"main", "folded"})
    table.add(
        "floyd", entry, {{{"n", 12}}, {{"n", 1}}}, 12, [](Tensors& in) { rescale(in, "distances", 0, 1); },
        shortestPaths);
  const Reference substituted = [](const Tensors& in) {
    const Grid l(in, "l"), b(in, "b");
    Vector x;
    for (Int i = 0; i < b.size(0); i++) x.push_back((b(i) - sum(i, [&](Int j) { return l(i, j) * x[j]; })) / l(i, i));
    return out(x);
  };
  for (const char* entry : {"main", "columns"})
    table.add("triangular", entry, {{{"n", 12}}, {{"n", 1}}}, 500, dominant("l"), substituted);
  table.add("triangular", "lu", {{{"n", 9}}, {{"n", 2}}}, 500, dominant("a"), decomposed);
  table.add("fir", "main", {{{"k", 9}, {"n", 100}}, {{"k", 1}, {"n", 3}}}, 10, [](const Tensors& in) {
    const Grid taps(in, "taps"), x(in, "signal");
    return out(A1{x.size(0) - taps.size(0) + 1},
               [&](Int i) { return sum(taps.size(0), [&](Int j) { return taps(j) * x(i + j); }); });
  });
}

// ---- sorting, integers

// The positive elements of an array.
Vector positive(const Grid& x) {
  Vector found;
  for (Int i = 0; i < x.size(0); i++)
    if (x(i) > 0) found.push_back(x(i));
  return found;
}

double alignment(const Tensors& in) {
  const Grid a(in, "a"), b(in, "b");
  const Int m = b.size(0);
  Vector row(m + 1), next = row;
  double best = 0;
  for (Int i = 0; i < a.size(0); i++) {
    for (Int j = 1; j <= m; j++) {
      const double match = a(i) == b(j - 1) ? 3 : -3;
      next[j] = std::max({0.0, row[j - 1] + match, row[j] - 2, next[j - 1] - 2});
      best = std::max(best, next[j]);
    }
    std::swap(row, next);
  }
  return best;
}

std::uint32_t xorshift(std::uint32_t s) {
  s ^= s << 13;
  s ^= s >> 17;
  return s ^ (s << 5);
}

Int hitsOf(Int walkers, Int steps) {
  Int inside = 0;
  for (Int i = 0; i < walkers; i++) {
    std::uint32_t s = static_cast<std::uint32_t>(i) * 2654435761U + 1U;
    for (Int k = 0; k < steps; k++) {
      const std::uint32_t x = xorshift(s);
      s = xorshift(x);
      const auto u = [](std::uint32_t bits) { return static_cast<float>(bits >> 8) / 16777216.0F; };
      const float xx = u(x) * u(x), yy = u(s) * u(s);
      inside += xx + yy <= 1;
    }
  }
  return inside;
}

// Two words of the state of SHA-256 after sixteen rounds, combined.
double hashed(const Grid& constants, const Grid& messages, Int message) {
  std::array<std::uint32_t, 8> s{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto rotated = [](std::uint32_t x, int k) { return x >> k | x << (32 - k); };
  for (Int i = 0; i < 16; i++) {
    const auto k = static_cast<std::uint32_t>(constants(i)), w = static_cast<std::uint32_t>(messages(message, i));
    const std::uint32_t t1 =
        s[7] + (rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k + w;
    const std::uint32_t t2 =
        (rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
  }
  return static_cast<double>(s[0] ^ s[4]);
}

void integers(Table& table) {
  const auto network = [](Int distance, Int size) {
    return [=](const Tensors& in) {
      const Grid x(in, "xs");
      return out(A1{x.size(0)}, [&](Int i) {
        const double a = x(i), b = x(i ^ distance);
        return (i < (i ^ distance)) == ((i & size) == 0) ? std::min(a, b) : std::max(a, b);
      });
    };
  };
  table.addExact(
      "bitonic", "step", {{{"n", 64}}},
      [](Tensors& in) {
        in.at("size").set(0, 8);
        in.at("distance").set(0, 4);
      },
      network(4, 8));
  for (const Int k : {6, 1})
    table.addExact("bitonic", "sort", {{{"k", k}, {"n", Int{1} << k}}}, [](const Tensors& in) {
      Vector v = vectorOf(Grid(in, "xs"));
      std::sort(v.begin(), v.end());
      return out(v);
    });
  const std::vector<Sizes> lines{{{"n", 100}}, {{"n", 1}}};
  table.addExact("compact", "main", lines, [](const Tensors& in) {
    const Grid x(in, "xs");
    const Vector found = positive(x);
    const Int count = std::ssize(found);
    return Tensors{{"out.0", make(A1{x.size(0)}, [&](Int i) { return i < count ? found[i] : 0.0; })},
                   {"out.1", single(static_cast<double>(count), Scalar::i32)}};
  });
  table.addExact("compact", "places", lines, [](const Tensors& in) {
    const Grid x(in, "xs");
    Int next = 0;
    return out(A1{x.size(0)}, Scalar::i32, [&](Int i) { return x(i) > 0 ? next++ : -1; });
  });
  for (const auto& [walkers, steps] : {A2{20, 30}, A2{1, 1}})
    table.addExact("pi", "main", {{{"walkers", walkers}, {"steps", steps}}},
                   [walkers = walkers, steps = steps](const Tensors&) {
                     return Tensors{{"out", single(static_cast<double>(hitsOf(walkers, steps)), Scalar::i32)}};
                   });
  const Prepare letters = [](Tensors& in) {
    for (const char* name : {"a", "b"})
      for (Int i = 0; i < in.at(name).size(); i++) in.at(name).set(i, std::fabs(in.at(name).get(i) / 3));
  };
  table.addExact("alignment", "main", {{{"n", 20}, {"m", 13}}, {{"n", 1}, {"m", 1}}}, letters, [](const Tensors& in) {
    return Tensors{{"out", single(alignment(in), Scalar::i32)}};
  });
  table.addExact(
      "hash", "main", {{{"n", 9}}, {{"n", 1}}},
      [](Tensors& in) {
        for (const char* name : {"constants", "messages"})
          for (Int i = 0; i < in.at(name).size(); i++)
            in.at(name).set(
                i, static_cast<double>(static_cast<std::uint32_t>(in.at(name).get(i) + static_cast<double>(i)) *
                                       2654435761U));
      },
      [](const Tensors& in) {
        const Grid constants(in, "constants"), messages(in, "messages");
        return out(A1{messages.size(0)}, Scalar::u32, [&](Int i) { return hashed(constants, messages, i); });
      });
}

// ---- geometry

using Point = std::array<double, 3>;
Point pointOf(const Tensors& in, const std::string& name, Int i) {
  return {in.at(name + ".0").get(i), in.at(name + ".1").get(i), in.at(name + ".2").get(i)};
}
Point minus(const Point& a, const Point& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
double inner(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

Tensors intersections(const Tensors& in) {
  const Grid radius(in, "spheres.1");
  const Int n = in.at("rays.0.0").size(), m = radius.size(0);
  Vector distance(n, INFINITY), hit(n, -1);
  for (Int i = 0; i < n; i++)
    for (Int s = 0; s < m; s++) {
      const Point oc = minus(pointOf(in, "rays.0", i), pointOf(in, "spheres.0", s)), d = pointOf(in, "rays.1", i);
      const double b = inner(oc, d), root = b * b - inner(oc, oc) + radius(s) * radius(s);
      const double t = root < 0 ? INFINITY : -b - std::sqrt(root);
      if (t > 0.001 && t < distance[i]) distance[i] = t, hit[i] = static_cast<double>(s);
    }
  return {{"out.0", make(distance)}, {"out.1", make(hit, Scalar::i32)}};
}
// Directions of length one; small spheres in front of the origins, and far ones that nothing meets.
void scene(Tensors& in) {
  for (Int i = 0; i < in.at("rays.1.0").size(); i++) {
    const double length = std::sqrt(inner(pointOf(in, "rays.1", i), pointOf(in, "rays.1", i)));
    for (const char* axis : {"rays.1.0", "rays.1.1", "rays.1.2"}) in.at(axis).set(i, in.at(axis).get(i) / length);
  }
  rescale(in, "spheres.1", 0.1, 0.6);
}

// How body i is pulled along an axis.
template <class At>
double pulled(Int n, Int i, Int axis, const At& at, const Grid& masses) {
  return sum(n, [&](Int j) {
    const double r2 = sum(3, [&](Int k) { return (at(j, k) - at(i, k)) * (at(j, k) - at(i, k)); }) + 0.01;
    return (at(j, axis) - at(i, axis)) * masses(j) / (r2 * std::sqrt(r2));
  });
}

void geometry(Table& table) {
  table.add("rays", "main", {{{"n", 60}, {"m", 9}}, {{"n", 1}, {"m", 1}}}, 200, scene, intersections);
  table.add("rays", "blended", {{{"n", 7}, {"m", 5}}, {{"n", 1}, {"m", 1}}}, 3, [](const Tensors& in) {
    const Grid w(in, "weights"), x(in, "xs"), y(in, "ys");
    return out(A2{x.size(0), x.size(1)}, [&](Int i, Int j) { return w(i) * x(i, j) + (1 - w(i)) * y(i, j); });
  });
  const Prepare heavy = [](Tensors& in) { absolute(in, "masses"); };
  table.add("bodies", "main", {{{"n", 40}}, {{"n", 1}}}, 1000, heavy, [](const Tensors& in) {
    const Grid dt(in, "dt"), masses(in, "masses");
    const Int n = masses.size(0);
    const auto at = [&](Int i, Int k) { return in.at(fmt::format("bodies.{}", k)).get(i); };
    Tensors moved;
    for (Int k = 0; k < 3; k++) {
      const auto velocity = [&](Int i) {
        return in.at(fmt::format("velocities.{}", k)).get(i) + dt() * pulled(n, i, k, at, masses);
      };
      moved.emplace(fmt::format("out.0.{}", k), make(A1{n}, [&](Int i) { return at(i, k) + dt() * velocity(i); }));
      moved.emplace(fmt::format("out.1.{}", k), make(A1{n}, velocity));
    }
    return moved;
  });
  table.add("bodies", "forces", {{{"n", 40}}, {{"n", 1}}}, 1000, heavy, [](const Tensors& in) {
    const Grid positions(in, "positions"), masses(in, "masses");
    return out(A2{positions.size(0), 3},
               [&](Int i, Int k) { return pulled(positions.size(0), i, k, positions, masses); });
  });
}

}  // namespace

void addNumbers(Table& table) {
  finance(table);
  linear(table);
  integers(table);
  geometry(table);
}

}  // namespace lift::programs
