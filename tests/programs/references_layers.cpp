// Layers of networks: convolutions, pooling, what is done to each channel.
#include "programs/reference.hpp"

namespace lift::programs {
namespace {

struct Layer {
  Int strideY = 1, strideX = 1;
  Int left = 0, right = 0, top = 0, bottom = 0;
  Int tapY = 1, tapX = 1;  // distance of taps
};

// A convolution of one image, channels innermost; reading outside gives zero, negative padding crops.
Tensors convolved(const Layer& l, const Grid& weights, const Grid* biases, const Grid& image) {
  const Int kernels = weights.size(0), kh = weights.size(1), kw = weights.size(2), channels = weights.size(3);
  const Int reachY = l.tapY * (kh - 1) + 1, reachX = l.tapX * (kw - 1) + 1;
  const Int height = image.size(0), width = image.size(1);
  const Int oh = (l.top + height + l.bottom - reachY) / l.strideY + 1;
  const Int ow = (l.left + width + l.right - reachX) / l.strideX + 1;
  return out(A3{oh, ow, kernels}, [&](Int y, Int x, Int k) {
    double acc = biases ? (*biases)(k) : 0.0;
    for (Int i = 0; i < kh; i++)
      for (Int j = 0; j < kw; j++)
        for (Int c = 0; c < channels; c++)
          acc += image.orZero(y * l.strideY - l.top + i * l.tapY, x * l.strideX - l.left + j * l.tapX, c) *
                 weights(k, i, j, c);
    return acc;
  });
}

Reference convolution(const Layer& l) {
  return [=](const Tensors& in) {
    const Grid biases(in, "biases");
    return convolved(l, Grid(in, "weights"), &biases, Grid(in, "input"));
  };
}

Tensors batched(const Tensors& in) {
  const Grid biases(in, "biases"), input(in, "input");
  std::vector<Tensors> images;
  for (Int n = 0; n < input.size(0); n++) {
    const Tensors image{{"image", make(A3{input.size(1), input.size(2), input.size(3)},
                                       [&](Int i, Int j, Int c) { return input(n, i, j, c); })}};
    images.push_back(convolved({1, 1, 1, 1, 1, 1}, Grid(in, "weights"), &biases, Grid(image, "image")));
  }
  const std::vector<Int>& shape = images[0].at("out").shape;
  return out(A4{input.size(0), shape[0], shape[1], shape[2]},
             [&](Int n, Int i, Int j, Int k) { return Grid(images[static_cast<std::size_t>(n)], "out")(i, j, k); });
}

// Of a layer of 3 by 3 taps with a border of zeros: every product of the forward pass adds to what it was made of.
template <class F>
void eachProduct(const Grid& g, Int channels, const F& f) {
  for (Int n = 0; n < g.size(0); n++)
    for (Int o = 0; o < g.size(1); o++)
      for (Int y = 0; y < g.size(2); y++)
        for (Int x = 0; x < g.size(3); x++)
          for (Int c = 0; c < channels; c++)
            for (Int t = 0; t < 9; t++) {
              const Int row = y + t / 3 - 1, column = x + t % 3 - 1;
              if (row < 0 || row >= g.size(2) || column < 0 || column >= g.size(3)) continue;
              f(g(n, o, y, x), n, o, c, t, row, column);
            }
}

Tensors gradientOfInputs(const Tensors& in) {
  const Grid k(in, "k"), g(in, "g");
  const Int channels = k.size(1), h = g.size(2), w = g.size(3);
  Vector all(static_cast<std::size_t>(g.size(0) * channels * h * w));
  eachProduct(g, channels, [&](double e, Int n, Int o, Int c, Int t, Int row, Int column) {
    all[((n * channels + c) * h + row) * w + column] += e * k(o, c, t / 3, t % 3);
  });
  return out(A4{g.size(0), channels, h, w},
             [&](Int n, Int c, Int y, Int x) { return all[((n * channels + c) * h + y) * w + x]; });
}

Tensors gradientOfWeights(const Tensors& in) {
  const Grid x(in, "x"), g(in, "g");
  const Int channels = x.size(1);
  Vector all(static_cast<std::size_t>(g.size(1) * channels * 9));
  eachProduct(g, channels, [&](double e, Int n, Int o, Int c, Int t, Int row, Int column) {
    all[(o * channels + c) * 9 + t] += e * x(n, c, row, column);
  });
  return out(A4{g.size(1), channels, 3, 3},
             [&](Int o, Int c, Int i, Int j) { return all[(o * channels + c) * 9 + 3 * i + j]; });
}

// Listing 4 at theta 5, sigma 3, kappa 2, omega 6 with 3 by 3 kernels: what each chunk of each window contributes.
Tensors partialSums(const Tensors& in) {
  const Grid weights(in, "weights"), x(in, "input");
  const Int channels = x.size(2), chunkCount = 9 * channels / 6;
  const Int tilesX = (x.size(1) - 5) / 3 + 1, tiles = ((x.size(0) - 5) / 3 + 1) * tilesX;
  return out(A6{tiles, weights.size(0) / 2, 3, chunkCount, 3, 2},
             [&](Int t, Int g, Int wg, Int chunk, Int s, Int kappa) {
               const Int window = wg * 3 + s;
               const Int y0 = t / tilesX * 3 + window / 3, x0 = t % tilesX * 3 + window % 3;
               return sum(6, [&](Int e) {
                 const Int tap = chunk + e * chunkCount;  // elements of a chunk are chunkCount apart
                 const Int i = tap / (3 * channels), j = tap / channels % 3, c = tap % channels;
                 return x(y0 + i, x0 + j, c) * weights(g * 2 + kappa, i, j, c);
               });
             });
}

// The greatest or the mean of windows; the mean counts padding.
Reference pooled(bool greatest, Int size, Int step, Int padding) {
  return [=](const Tensors& in) {
    const Grid x(in, "x");
    const Int oh = (x.size(0) + 2 * padding - size) / step + 1, ow = (x.size(1) + 2 * padding - size) / step + 1;
    return out(A3{oh, ow, x.size(2)}, [&](Int i, Int j, Int c) {
      double most = -INFINITY, total = 0;
      for (Int a = 0; a < size; a++)
        for (Int b = 0; b < size; b++) {
          const double v = x.orZero(i * step + a - padding, j * step + b - padding, c);
          most = std::max(most, v);
          total += v;
        }
      return greatest ? most : total / static_cast<double>(size * size);
    });
  };
}

}  // namespace

void addLayers(Table& table) {
  table.add("fully_connected", "main",
            {{{"outputs", 10}, {"inputs", 33}, {"batch", 3}}, {{"outputs", 1}, {"inputs", 1}, {"batch", 1}}}, 34,
            [](const Tensors& in) {
              const Grid weights(in, "weights"), biases(in, "biases"), x(in, "x");
              return out(A2{x.size(0), weights.size(0)}, [&](Int n, Int o) {
                return std::max(0.0, biases(o) + sum(x.size(1), [&](Int i) { return x(n, i) * weights(o, i); }));
              });
            });

  const auto sizes = [](Int k, Int kh, Int kw, Int c, Int h, Int w) {
    return Sizes{{"k", k}, {"kh", kh}, {"kw", kw}, {"c", c}, {"h", h}, {"w", w}};
  };
  const auto conv = [&](const char* entry, const Layer& layer, const std::vector<Sizes>& at) {
    table.add("conv_layer", entry, at, 200, convolution(layer));
  };
  const Layer one{1, 1, 1, 1, 1, 1};
  // The toy layers, then kernels of odd shapes, primes, single channels.
  conv("main", one,
       {sizes(4, 4, 2, 4, 9, 9), sizes(6, 3, 2, 3, 6, 5), sizes(3, 1, 7, 2, 5, 11), sizes(2, 5, 3, 3, 7, 13),
        sizes(1, 3, 3, 1, 7, 5), sizes(5, 2, 2, 1, 6, 6), sizes(1, 3, 3, 7, 5, 5), sizes(2, 3, 3, 3, 1, 1)});
  conv("unpadded", {},
       {sizes(4, 4, 2, 4, 9, 9), sizes(3, 1, 1, 5, 4, 7), sizes(2, 1, 7, 3, 2, 11), sizes(1, 1, 1, 1, 1, 1)});
  conv("stride2", {2, 2, 1, 1, 1, 1}, {sizes(3, 3, 3, 5, 9, 9), sizes(2, 3, 3, 3, 8, 10), sizes(2, 1, 1, 3, 7, 5)});
  conv("stride3", {3, 3, 1, 1, 1, 1}, {sizes(3, 3, 3, 2, 11, 13), sizes(2, 5, 3, 1, 9, 10)});
  conv("stride4", {4, 4, 2, 2, 2, 2}, {sizes(2, 11, 11, 3, 17, 19), sizes(3, 3, 3, 2, 10, 7)});
  conv("stride21", {2, 1, 1, 1, 1, 1}, {sizes(2, 3, 5, 2, 9, 8)});
  conv("asymmetric", {1, 1, 0, 2, 1, 3}, {sizes(2, 3, 3, 2, 5, 7), sizes(3, 4, 2, 1, 3, 3)});
  conv("wide", {1, 1, 4, 4, 4, 4}, {sizes(2, 3, 3, 2, 4, 3), sizes(1, 2, 2, 3, 1, 1)});
  conv("cropping", {1, 1, -1, 1, 1, -2}, {sizes(2, 3, 3, 2, 7, 7)});
  conv("dilation2", {1, 1, 2, 2, 2, 2, 2, 2}, {sizes(2, 3, 3, 2, 7, 8), sizes(2, 2, 2, 3, 5, 5)});
  conv("dilation32", {1, 1, 0, 1, 3, 2, 3, 2}, {sizes(3, 3, 3, 2, 8, 9), sizes(2, 2, 3, 1, 7, 5)});
  const auto images = [&](Int n, Sizes s) {
    s.emplace("n", n);
    return s;
  };
  table.add("conv_layer", "batched", {images(3, sizes(2, 3, 3, 3, 5, 4)), images(1, sizes(2, 3, 3, 1, 3, 3))}, 200,
            batched);

  table.add("partial_conv", "main", {{}}, 200, convolution(one));
  table.add("partial_conv", "partial",
            {{{"k", 4}, {"c", 4}, {"h", 8}, {"w", 11}}, {{"k", 2}, {"c", 2}, {"h", 5}, {"w", 5}}}, 50, partialSums);

  const std::vector<Sizes> gradients{{{"n", 2}, {"c", 3}, {"o", 4}, {"h", 5}, {"w", 6}},
                                     {{"n", 1}, {"c", 1}, {"o", 1}, {"h", 1}, {"w", 1}}};
  table.add("gradients", "data", gradients, 80, gradientOfInputs);
  table.add("gradients", "weights", gradients, 120, gradientOfWeights);

  const std::vector<Sizes> maps{
      {{"h", 8}, {"w", 6}, {"c", 3}}, {{"h", 7}, {"w", 5}, {"c", 1}}, {{"h", 3}, {"w", 3}, {"c", 2}}};
  table.addExact("pooling", "max2", maps, pooled(true, 2, 2, 0));
  table.addExact("pooling", "max3stride2", maps, pooled(true, 3, 2, 0));
  table.add("pooling", "average2", maps, 5, pooled(false, 2, 2, 0));
  table.add("pooling", "average3stride1", maps, 10, pooled(false, 3, 1, 1));
  table.add("pooling", "globalAverage", maps, 50, [](const Tensors& in) {
    const Grid x(in, "x");
    const Int h = x.size(0), w = x.size(1);
    return out(A1{x.size(2)}, [&](Int c) {
      return sum(h * w, [&](Int i) { return x(i / w, i % w, c); }) / static_cast<double>(h * w);
    });
  });
  table.addExact("pooling", "rectified", maps, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(A3{x.size(0), x.size(1), x.size(2)}, [&](Int i, Int j, Int c) { return std::max(0.0, x(i, j, c)); });
  });
  table.add("pooling", "biased", maps, 1, [](const Tensors& in) {
    const Grid x(in, "x"), biases(in, "biases");
    return out(A3{x.size(0), x.size(1), x.size(2)}, [&](Int i, Int j, Int c) { return x(i, j, c) + biases(c); });
  });
  table.add(
      "pooling", "batchNorm", maps, 30, [](Tensors& in) { absolute(in, "variance"); },
      [](const Tensors& in) {
        const Grid x(in, "x"), gamma(in, "gamma"), beta(in, "beta"), mean(in, "mean"), variance(in, "variance");
        return out(A3{x.size(0), x.size(1), x.size(2)}, [&](Int i, Int j, Int c) {
          return gamma(c) * (x(i, j, c) - mean(c)) / std::sqrt(variance(c) + 0.001) + beta(c);
        });
      });
}

}  // namespace lift::programs
