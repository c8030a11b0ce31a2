#include "chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lift::tune {
namespace {

constexpr std::size_t colours = 6;
constexpr int characterWidth = 7;  // of the legend's and axes' type, about

struct Frame {
  double left, top, width, height;
};

std::string text(double x, double y, const char* style, const std::string& content) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style, escapeHtml(content));
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                     style);
}

std::string open(const std::string& label, int width, int height) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", width, height, escapeHtml(label));
}

std::string legend(const std::vector<std::string>& series, double x, double y) {
  std::string out;
  for (std::size_t i = 0; i < series.size(); i++) {
    out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\" rx=\"2\" class=\"s{}\"/>\n", x,
                       y - 9, i % colours);
    out += text(x + 15, y, "label", series[i]);
    x += 32 + characterWidth * static_cast<double>(series[i].size());
  }
  return out;
}

// The step between ticks that gives about `count` of them: 1, 2 or 5 times a power of ten.
double roundStep(double range, int count) {
  const double rough = range / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

// 1, 2 and 5 times powers of ten; powers alone where these are many.
std::vector<double> logarithmicTicks(double low, double high) {
  std::vector<double> ticks;
  const bool many = high / low > 2000;
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  for (int e = static_cast<int>(std::floor(std::log10(low))); e <= last; e++)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10, e);
      if ((factor == 1 || !many) && tick >= low * 0.999 && tick <= high * 1.001) ticks.push_back(tick);
    }
  return ticks;
}

double outwards(double value, bool up) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  const double mantissa = value / power;
  if (up) return power * (mantissa <= 1.0001 ? 1 : mantissa <= 2 ? 2 : mantissa <= 5 ? 5 : 10);
  return power * (mantissa >= 5 ? 5 : mantissa >= 2 ? 2 : 1);
}

class Drawing {
 public:
  Drawing(const Chart& chart, Frame frame) : chart_(chart), frame_(frame) {}

  std::string axes() const {
    std::string out;
    for (const double tick : chart_.x.ticks()) {
      const double x = px(tick);
      out += line(x, frame_.top, x, frame_.top + frame_.height, "grid");
      out += text(x, frame_.top + frame_.height + 16, "tick mid", shortNumber(tick));
    }
    for (const double tick : chart_.y.ticks()) {
      const double y = py(tick);
      out += line(frame_.left, y, frame_.left + frame_.width, y, "grid");
      out += text(frame_.left - 6, y + 4, "tick end", shortNumber(tick));
    }
    out += text(frame_.left + frame_.width, frame_.top + frame_.height + 34, "label end", chart_.x.title);
    out += text(4, frame_.top - 10, "label", chart_.y.title);
    return out;
  }

  std::string lines() const {
    std::string out;
    for (const Line& l : chart_.lines) {
      std::string path;
      double before = 0;
      for (const auto& [x, y] : l.points) {
        if (!path.empty() && l.steps) path += fmt::format(" L{:.1f} {:.1f}", px(x), before);
        before = py(y);
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", px(x), before);
      }
      out += fmt::format("<path d=\"{}\" class=\"line l{}\"/>\n", path, l.series % colours);
    }
    return out;
  }

  std::string marks() const {
    std::string out;
    for (const bool prominent : {false, true})  // the prominent ones on top
      for (const Mark& m : chart_.marks)
        if (m.prominent == prominent)
          out += fmt::format(
              "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" class=\"{} s{}\"><title>{}</title></circle>\n", px(m.x),
              py(m.y), prominent ? 4.5 : 2.5, prominent ? "strong" : "mark", m.series % colours, escapeHtml(m.tip));
    return out;
  }

 private:
  double px(double x) const { return frame_.left + chart_.x.place(x) * frame_.width; }
  double py(double y) const { return frame_.top + (1 - chart_.y.place(y)) * frame_.height; }

  const Chart& chart_;
  Frame frame_;
};

}  // namespace

std::string escapeHtml(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

std::string shortNumber(double value) {
  if (value == 0) return "0";
  const int digits = std::clamp(2 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 6);
  std::string out = fmt::format("{:.{}f}", value, digits);
  if (digits > 0) {
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') out.pop_back();
    return out;
  }
  for (auto at = static_cast<std::ptrdiff_t>(out.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3)
    out.insert(static_cast<std::size_t>(at), ",");
  return out;
}

Axis Axis::over(std::string title, const std::vector<double>& values, bool logarithmic) {
  double low = 1e300, high = -1e300;
  for (const double v : values) {
    if (!std::isfinite(v) || (logarithmic && v <= 0)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  if (low > high) return {std::move(title), false, 0, 1};
  if (logarithmic) {
    if (outwards(low, false) == outwards(high, true)) high = low * 2;
    return {std::move(title), true, outwards(low, false), outwards(high, true)};
  }
  if (low == high) low *= 0.5, high = high == 0 ? 1 : high * 1.5;
  const double step = roundStep(high - low, 5);
  return {std::move(title), false, std::floor(low / step) * step, std::ceil(high / step) * step};
}

std::vector<double> Axis::ticks() const {
  if (logarithmic) return logarithmicTicks(low, high);
  std::vector<double> ticks;
  const double step = roundStep(high - low, 5);
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-6; i++) ticks.push_back(i * step);
  return ticks;
}

double Axis::place(double value) const {
  const double at = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return std::clamp(at, 0.0, 1.0);
}

std::string Chart::svg(int width, int height) const {
  const bool named = series.size() > 1;
  const Frame frame{52, named ? 46.0 : 26.0, width - 52 - 16.0, height - (named ? 46 : 26) - 44.0};
  const Drawing drawing(*this, frame);
  std::string out = open(label, width, height) + drawing.axes() + drawing.lines() + drawing.marks();
  if (named) out += legend(series, frame.left, 14);
  return out + "</svg>\n";
}

std::string Bars::svg(int width, int height) const {
  std::vector<double> all = {0};
  for (const auto& group : values) all.insert(all.end(), group.begin(), group.end());
  const Axis axis = Axis::over(unit, all, false);
  const Frame frame{52, 46, width - 52 - 8.0, height - 46 - 30.0};
  const auto y = [&](double value) { return frame.top + (1 - axis.place(value)) * frame.height; };
  std::string out = open(label, width, height);
  for (const double tick : axis.ticks()) {
    out += line(frame.left, y(tick), frame.left + frame.width, y(tick), "grid");
    out += text(frame.left - 6, y(tick) + 4, "tick end", shortNumber(tick));
  }
  out += text(4, frame.top - 10, "label", unit);
  const double slot = frame.width / static_cast<double>(std::max<std::size_t>(groups.size(), 1));
  const double bar = std::min(28.0, slot * 0.8 / static_cast<double>(std::max<std::size_t>(series.size(), 1)));
  for (std::size_t g = 0; g < groups.size(); g++) {
    const double middle = frame.left + slot * (static_cast<double>(g) + 0.5);
    double x = middle - bar * static_cast<double>(series.size()) / 2;
    for (std::size_t s = 0; s < series.size(); s++, x += bar)
      if (values[g][s] > 0)
        out += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"s{}\"><title>{}, {}: {} "
            "{}</title></rect>\n",
            x, y(values[g][s]), bar - 1, frame.top + frame.height - y(values[g][s]), s % colours, escapeHtml(groups[g]),
            escapeHtml(series[s]), shortNumber(values[g][s]), unit);
    out += text(middle, frame.top + frame.height + 18, "tick mid", groups[g]);
  }
  return out + legend(series, frame.left, 14) + "</svg>\n";
}

}  // namespace lift::tune
