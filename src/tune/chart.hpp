// Charts as SVG text: axes with round ticks, points, lines, bars. Colours are CSS variables of the page: --c0 … --c5
// for series, --ink, --muted and --grid for the rest, so that a chart follows the page's light or dark.
#pragma once

#include <string>
#include <vector>

namespace lift::tune {

std::string escapeHtml(const std::string& text);

// "0.8", "12", "1,234": three significant digits, no exponents.
std::string shortNumber(double value);

struct Axis {
  std::string title;
  bool logarithmic = false;
  double low = 0, high = 1;  // of the data; rounded outwards to ticks

  // Covers the values; a logarithmic axis leaves out those that are not positive.
  static Axis over(std::string title, const std::vector<double>& values, bool logarithmic);

  std::vector<double> ticks() const;
  double place(double value) const;  // 0 at the low end, 1 at the high end
};

struct Mark {
  double x = 0, y = 0;
  std::size_t series = 0;
  std::string tip;  // shown while the pointer rests on it
  bool prominent = false;
};

struct Line {
  std::vector<std::pair<double, double>> points;
  std::size_t series = 0;
  bool steps = false;  // goes right, then down: what is known stays true until something better comes
};

struct Chart {
  std::string label;  // what it shows, for readers who cannot see it
  Axis x, y;
  std::vector<Mark> marks;
  std::vector<Line> lines;
  std::vector<std::string> series;  // names, for the legend; one or none: no legend

  std::string svg(int width = 560, int height = 320) const;
};

// Groups of bars beside each other; a value that is not positive has no bar.
struct Bars {
  std::string label, unit;
  std::vector<std::string> groups, series;
  std::vector<std::vector<double>> values;  // by group, then series

  std::string svg(int width = 960, int height = 300) const;
};

}  // namespace lift::tune
