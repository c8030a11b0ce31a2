#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "chart.hpp"
#include "lift/listed.hpp"
#include "lift/tune_report.hpp"

namespace lift::tune {
namespace {

constexpr std::size_t bestRows = 5;

constexpr const char* style = R"css(
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #1d1f21; --muted: #6b6f76; --grid: #e4e4df; --card: #ffffff;
        --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #cc79a7; --c4: #e69f00; --c5: #56b4e9; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --ink: #e6e6e3; --muted: #9a9ea6; --grid: #2e3238; --card: #1d2024;
          --c0: #56a8e0; --c1: #f08a4b; --c2: #3cc9a0; --c3: #e09bc4; --c4: #f0b93a; --c5: #8fd0f5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 4rem; max-width: 76rem; background: var(--paper); color: var(--ink);
       font: 15px/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.7rem; font-weight: 650; letter-spacing: -0.01em; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; font-weight: 650; margin: 3rem 0 .2rem; padding-top: 1.2rem; border-top: 1px solid var(--grid); }
h3 { font-size: .95rem; font-weight: 600; margin: 1.4rem 0 .3rem; }
p { margin: .3rem 0 .8rem; max-width: 46rem; } .muted, caption { color: var(--muted); }
figure { margin: 0; padding: .9rem 1rem .6rem; background: var(--card); border: 1px solid var(--grid); border-radius: 8px; }
figcaption { font-size: .85rem; color: var(--muted); margin-top: .2rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 1rem; }
.strip { display: grid; grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr)); gap: 1rem; }
svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; font-variant-numeric: tabular-nums; }
svg text { fill: var(--ink); } svg .tick { fill: var(--muted); font-size: 11px; }
svg .mid { text-anchor: middle; } svg .end { text-anchor: end; }
svg .grid { stroke: var(--grid); } svg .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg .mark { opacity: .45; } svg .strong { stroke: var(--card); stroke-width: 1.5; }
svg .s0 { fill: var(--c0); } svg .s1 { fill: var(--c1); } svg .s2 { fill: var(--c2); }
svg .s3 { fill: var(--c3); } svg .s4 { fill: var(--c4); } svg .s5 { fill: var(--c5); }
svg .l0 { stroke: var(--c0); } svg .l1 { stroke: var(--c1); } svg .l2 { stroke: var(--c2); }
svg .l3 { stroke: var(--c3); } svg .l4 { stroke: var(--c4); } svg .l5 { stroke: var(--c5); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; width: 100%; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--grid); vertical-align: baseline; }
th { font-weight: 600; color: var(--muted); white-space: nowrap; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
code { font: .84em ui-monospace, "SF Mono", Menlo, Consolas, monospace; } td code { white-space: nowrap; }
details { margin-top: 1rem; } summary { cursor: pointer; color: var(--muted); } .bad { color: var(--c1); }
)css";

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) * 1e-6; }

// A problem with all that was measured of it on the device.
struct Subject {
  ProblemRow problem;
  std::vector<Measurement> sweep;  // ours, in order
  std::vector<Measurement> all;    // ours, re-timed ones too
  std::vector<Measurement> peers;
  std::vector<std::string> families;
  std::optional<Measurement> best;

  std::size_t series(const Measurement& m) const {
    return static_cast<std::size_t>(std::ranges::find(families, m.key.family) - families.begin());
  }
  std::string title() const { return problem.label.empty() ? problem.key : problem.label; }
  double gflops(double ms) const { return ms > 0 ? static_cast<double>(problem.operations) * 1e-6 / ms : 0; }
  // As a cell of a table; a dash where the number of operations is not known.
  std::string speed(const Measurement& m) const {
    return problem.operations > 0 ? fmt::format("{:.1f}", gflops(m.median())) : "–";
  }
  double memory(const Measurement& m) const { return megabytes(m.workspaceBytes + problem.tensorBytes); }
};

std::vector<Subject> subjects(const Database& db, const std::string& device, const std::vector<std::string>& wanted) {
  std::vector<Subject> found;
  for (const ProblemRow& problem : db.problems()) {
    if (!wanted.empty() && std::ranges::find(wanted, problem.key) == wanted.end()) continue;
    Subject s{problem, {}, {}, {}, {}, {}};
    std::set<std::string> families;
    for (Measurement& m : db.select({.problem = problem.key, .device = device})) {
      if (isPeer(m)) {
        s.peers.push_back(std::move(m));
        continue;
      }
      families.insert(m.key.family);
      if (m.key.phase == Phase::sweep) s.sweep.push_back(m);
      s.all.push_back(std::move(m));
    }
    s.families.assign(families.begin(), families.end());
    s.best = fastest(s.all);
    if (!s.all.empty()) found.push_back(std::move(s));
  }
  // In the order that was asked for, which is a network's.
  if (!wanted.empty())
    std::ranges::stable_sort(found, [&](const Subject& a, const Subject& b) {
      const auto place = [&](const Subject& s) { return std::ranges::find(wanted, s.problem.key); };
      return place(a) < place(b);
    });
  return found;
}

std::string tip(const Subject& s, const Measurement& m) {
  return fmt::format("{} ms, {} MB: {} {}", shortNumber(m.median()), shortNumber(s.memory(m)), m.key.family,
                     lift::str(m.key.config));
}

std::string figure(const std::string& svg, const std::string& caption) {
  return fmt::format("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", svg, escapeHtml(caption));
}

// --- one problem -----------------------------------------------------------------------------------------------------

std::string convergence(const Subject& s) {
  Chart chart;
  chart.label = "Time of each point and best time so far, against the points tried";
  chart.series = s.families;
  std::vector<double> times;
  double best = std::numeric_limits<double>::infinity();
  Line front{{}, 0, true};
  for (std::size_t i = 0; i < s.sweep.size(); i++) {
    const Measurement& m = s.sweep[i];
    if (m.times.empty() || m.status == Status::wrong) continue;
    const auto x = static_cast<double>(i + 1);
    const bool improves = m.valid() && m.median() < best;
    chart.marks.push_back({x, m.median(), s.series(m), tip(s, m), improves});
    times.push_back(m.median());
    if (!improves) continue;
    best = m.median();
    front.points.emplace_back(x, best);
  }
  if (times.empty()) return {};
  front.points.emplace_back(static_cast<double>(s.sweep.size()), best);
  chart.lines = {front};
  chart.x = Axis::over("points tried", {0, static_cast<double>(s.sweep.size())}, false);
  chart.y = Axis::over("ms", times, true);
  return figure(chart.svg(), "Best time so far (line), and every point that ran.");
}

std::string plane(const Subject& s) {
  Chart chart;
  chart.label = "Time against memory, with the Pareto front";
  chart.series = s.families;
  const std::vector<std::size_t> front = paretoFront(s.sweep);
  if (front.empty()) return {};
  Line line{{}, 1, true};
  for (const std::size_t i : front) line.points.emplace_back(s.memory(s.sweep[i]), s.sweep[i].median());
  std::vector<double> memory, times;
  for (std::size_t i = 0; i < s.sweep.size(); i++) {
    const Measurement& m = s.sweep[i];
    if (!m.valid()) continue;
    const bool inFront = std::ranges::find(front, i) != front.end();
    chart.marks.push_back({s.memory(m), m.median(), s.series(m), tip(s, m), inFront});
    memory.push_back(s.memory(m));
    times.push_back(m.median());
  }
  chart.lines = {line};
  chart.x = Axis::over("memory, MB", memory, false);
  chart.y = Axis::over("ms", times, true);
  return figure(chart.svg(),
                "Time and memory (tensors and workspace); the line joins the points that no other beats in both.");
}

std::string bestTable(const Subject& s) {
  std::vector<Measurement> valid;
  for (const Measurement& m : s.all)
    if (m.valid()) valid.push_back(m);
  std::string rows;
  for (std::size_t i = 0; i < bestRows; i++) {
    const auto best = fastest(valid);
    if (!best) break;
    rows += fmt::format(
        "<tr><td class=n>{}</td><td class=n>{:.1f}</td><td class=n>{}</td><td class=n>{}</td><td>{}</td>"
        "<td><code>{}</code></td></tr>\n",
        shortNumber(best->median()), best->spread() * 100, s.speed(*best), shortNumber(s.memory(*best)),
        escapeHtml(best->key.family), escapeHtml(lift::str(best->key.config)));
    valid.erase(std::remove_if(valid.begin(), valid.end(),
                               [&](const Measurement& m) {
                                 return m.key.family == best->key.family && m.key.config == best->key.config;
                               }),
                valid.end());
  }
  return "<h3>Best parameters</h3>\n<div class=scroll><table><thead><tr><th class=n>ms<th class=n>spread, %<th "
         "class=n>GFLOP/s"
         "<th class=n>memory, MB<th>family<th>parameters</tr></thead><tbody>\n" +
         rows + "</tbody></table></div>\n";
}

// The share of the variance of log(time) that the groups by value explain (eta squared).
double explained(const std::map<std::int64_t, std::vector<double>>& groups) {
  double sum = 0, squares = 0, between = 0, count = 0;
  for (const auto& [value, logs] : groups) {
    double groupSum = 0;
    for (const double l : logs) groupSum += l, squares += l * l;
    const auto n = static_cast<double>(logs.size());
    sum += groupSum;
    count += n;
    between += groupSum * groupSum / n;
  }
  const double total = squares - sum * sum / count;
  return total > 1e-12 ? std::clamp((between - sum * sum / count) / total, 0.0, 1.0) : 0;
}

struct Sensitivity {
  double share = 0;
  std::string html;
};

Sensitivity sensitivityTo(const std::string& tunable, const std::vector<const Measurement*>& points, const Subject& s,
                          bool named) {
  std::map<std::int64_t, std::vector<double>> logs;
  std::map<std::int64_t, const Measurement*> best;
  Chart chart;
  chart.label = "Time by value of " + tunable;
  std::vector<double> values, times;
  for (const Measurement* m : points) {
    const std::int64_t value = m->key.config.at(tunable);
    logs[value].push_back(std::log(m->median()));
    const Measurement*& leader = best[value];
    if (leader == nullptr || m->median() < leader->median()) leader = m;
    values.push_back(static_cast<double>(value));
    times.push_back(m->median());
  }
  if (logs.size() < 2) return {};
  Line line{{}, s.series(*points.front()), false};
  for (const auto& [value, leader] : best) line.points.emplace_back(static_cast<double>(value), leader->median());
  for (const Measurement* m : points) {
    const std::int64_t value = m->key.config.at(tunable);
    chart.marks.push_back({static_cast<double>(value), m->median(), s.series(*m), tip(s, *m), m == best[value]});
  }
  chart.lines = {line};
  const bool wide =
      values.empty() ? false : *std::ranges::min_element(values) > 0 && logs.rbegin()->first / logs.begin()->first > 8;
  chart.x = Axis::over(tunable, values, wide);
  chart.y = Axis::over("ms", times, true);
  const double share = explained(logs);
  const std::string family = named ? fmt::format("{}: ", points.front()->key.family) : "";
  return {share, figure(chart.svg(360, 230), fmt::format("{}{} alone explains {:.0f} % of the variance of log time.",
                                                         family, tunable, share * 100))};
}

std::string sensitivity(const Subject& s) {
  std::vector<Sensitivity> found;
  for (const std::string& family : s.families) {
    std::map<std::string, std::vector<const Measurement*>> byTunable;  // an earlier liftc had others
    for (const Measurement& m : s.sweep)
      if (m.valid() && m.key.family == family)
        for (const auto& [tunable, value] : m.key.config) byTunable[tunable].push_back(&m);
    for (const auto& [tunable, points] : byTunable)
      if (points.size() >= 3) found.push_back(sensitivityTo(tunable, points, s, s.families.size() > 1));
  }
  std::ranges::stable_sort(found, [](const Sensitivity& a, const Sensitivity& b) { return a.share > b.share; });
  std::string html;
  for (const Sensitivity& f : found) html += f.html;
  return html.empty() ? "" : "<h3>Sensitivity</h3>\n<div class=strip>\n" + html + "</div>\n";
}

std::string everyPoint(const Subject& s) {
  std::string rows;
  for (const Measurement& m : s.all) {
    const std::string time = m.times.empty() ? "–" : shortNumber(m.median());
    rows += fmt::format("<tr><td class=n>{}</td><td class=n>{}</td><td{}>{}{}</td><td><code>{}</code></td></tr>\n",
                        time, shortNumber(s.memory(m)), m.valid() ? "" : " class=bad",
                        m.key.phase == Phase::retime ? "timed again" : name(m.status),
                        m.detail.empty() ? "" : escapeHtml(": " + m.detail), escapeHtml(commandOf(s.problem, m)));
  }
  return fmt::format(
      "<details><summary>All {} measurements, and the command that repeats each</summary>\n<div class=scroll>"
      "<table><thead><tr><th class=n>ms<th class=n>memory, MB<th>result<th>command</tr></thead><tbody>\n"
      "{}</tbody></table></div></details>\n",
      s.all.size(), rows);
}

std::string statusCounts(const Subject& s) {
  std::map<Status, int> counts;
  for (const Measurement& m : s.sweep) counts[m.status]++;
  return listed(counts, [](const auto& row) { return fmt::format("{} {}", row.second, name(row.first)); });
}

std::string section(const Subject& s) {
  return fmt::format(
      "<section>\n<h2>{}</h2>\n<p class=muted><code>{}</code><br>{} points: {}</p>\n<div "
      "class=pair>\n{}{}</div>\n{}{}{}</section>\n",
      escapeHtml(s.title()), escapeHtml(s.problem.key), s.sweep.size(), escapeHtml(statusCounts(s)), convergence(s),
      plane(s), bestTable(s), sensitivity(s), everyPoint(s));
}

// --- all problems ----------------------------------------------------------------------------------------------------

std::vector<std::string> peerFamilies(const std::vector<Subject>& all) {
  std::set<std::string> names;
  for (const Subject& s : all)
    for (const Measurement& m : s.peers)
      if (m.valid()) names.insert(m.key.family);
  return {names.begin(), names.end()};
}

std::optional<Measurement> peer(const Subject& s, const std::string& family) {
  std::optional<Measurement> best;
  for (const Measurement& m : s.peers)
    if (m.key.family == family && m.valid() && (!best || m.median() < best->median())) best = m;
  return best;
}

// The paper's Figure 5: throughput and memory by layer, ours beside the peers'.
std::string byLayer(const std::vector<Subject>& all) {
  const std::vector<std::string> peers = peerFamilies(all);
  Bars speed{"Throughput by layer", "GFLOP/s", {}, {"liftc"}, {}}, memory{"Memory by layer", "MB", {}, {"liftc"}, {}};
  for (const std::string& p : peers)
    for (Bars* bars : {&speed, &memory}) bars->series.push_back(peerName(p));
  for (const Subject& s : all) {
    if (!s.best || s.problem.operations == 0) continue;
    std::vector<double> speeds = {s.gflops(s.best->median())}, memories = {s.memory(*s.best)};
    for (const std::string& p : peers) {
      const auto m = peer(s, p);
      speeds.push_back(m ? s.gflops(m->median()) : 0);
      memories.push_back(m ? s.memory(*m) : 0);
    }
    for (Bars* bars : {&speed, &memory}) bars->groups.push_back(s.title().substr(0, 14));
    speed.values.push_back(speeds);
    memory.values.push_back(memories);
  }
  if (speed.groups.empty() || (speed.groups.size() == 1 && peers.empty())) return {};  // one bar says nothing
  return figure(speed.svg(), "Throughput of the best point, by layer; more is better.") + "<br>" +
         figure(memory.svg(), "Memory of the best point, tensors and workspace; less is better.");
}

std::string overview(const std::vector<Subject>& all) {
  std::string rows;
  for (const Subject& s : all) {
    const bool any = s.best.has_value();
    rows += fmt::format(
        "<tr><td>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td><td>{}</td>"
        "<td><code>{}</code></td></tr>\n",
        escapeHtml(s.title()), any ? shortNumber(s.best->median()) : "–", any ? s.speed(*s.best) : "–",
        any ? shortNumber(s.memory(*s.best)) : "–", s.sweep.size(), any ? escapeHtml(s.best->key.family) : "",
        any ? escapeHtml(lift::str(s.best->key.config)) : "");
  }
  return "<div class=scroll><table><thead><tr><th>problem<th class=n>best, ms<th class=n>GFLOP/s<th class=n>memory, MB"
         "<th class=n>points<th>family<th>parameters</tr></thead><tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string deviceLine(const Database& db, const std::string& id) {
  for (const DeviceRow& d : db.devices())
    if (d.id == id) return fmt::format("{} — {}, driver {}", d.name, d.platform, d.driver);
  return id;
}

std::string page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>liftc: {0}</title>\n"
      "<link rel=\"icon\" href=\"data:,\">\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{2}</body>\n</html>\n",
      title, style, body);
}

// --- explorers compared ----------------------------------------------------------------------------------------------

std::string regretPlot(const Comparison& c) {
  constexpr double least = 0.1;  // per cent: what is less is drawn here, since the axis is logarithmic
  Chart chart;
  chart.label = "Regret against measurements, by explorer";
  std::vector<double> trials, regrets;
  for (std::size_t i = 0; i < c.rows.size(); i++) {
    chart.series.push_back(c.rows[i].explorer);
    Line line{{}, i, true};
    for (std::size_t trial = 0; trial < c.rows[i].regrets.size(); trial++) {
      const double percent = std::max(least, 100 * c.rows[i].regrets[trial]);
      if (!std::isfinite(percent)) continue;
      line.points.emplace_back(static_cast<double>(trial + 1), percent);
      trials.push_back(static_cast<double>(trial + 1));
      regrets.push_back(percent);
    }
    chart.lines.push_back(std::move(line));
  }
  if (trials.empty()) return {};
  chart.x = Axis::over("measurements", trials, true);
  chart.y = Axis::over("regret, %", regrets, true);
  return figure(chart.svg(960, 360), "How much slower than the best the best found so far is.");
}

std::string comparisonTable(const Comparison& c) {
  std::string rows;
  for (const Comparison::Row& row : c.rows)
    rows += fmt::format("<tr><td>{}</td><td class=n>{}</td><td class=n>{}</td></tr>\n", escapeHtml(row.explorer),
                        row.to5, row.to1);
  return "<div class=scroll><table><thead><tr><th>explorer<th class=n>measurements to within 5 %<th class=n>to within "
         "1 "
         "%</tr></thead><tbody>\n" +
         rows + "</tbody></table></div>\n";
}

}  // namespace

std::string commandOf(const ProblemRow& problem, const Measurement& m) {
  const std::string config = m.key.config.empty() ? "''" : lift::str(m.key.config);
  return fmt::format("liftc tune {} --family {} --config {}", problem.command, m.key.family, config);
}

std::string report(const Database& database, const std::string& device, const std::vector<std::string>& problems) {
  const std::vector<Subject> all = subjects(database, device, problems);
  std::string body;
  for (const Subject& s : all) body += section(s);
  return page(
      "Tuning report",
      fmt::format("<p class=muted>{}<br>Times are medians on the device’s clock. Every point was checked against "
                  "a reference before its time counted.</p>\n{}{}{}",
                  escapeHtml(deviceLine(database, device)), overview(all), byLayer(all), body));
}

std::string comparisonReport(const std::vector<Comparison>& comparisons, int seeds) {
  std::string body = fmt::format(
      "<p class=muted>Searches replayed on recorded sweeps. Medians over {} seeds; regret is how much slower than the "
      "recording’s best the best found so far is.</p>\n",
      seeds);
  for (const Comparison& c : comparisons)
    body += fmt::format("<section>\n<h2>{}</h2>\n<p class=muted>{} points</p>\n{}{}</section>\n", escapeHtml(c.title),
                        c.points, regretPlot(c), comparisonTable(c));
  return page("Searches compared", body);
}

}  // namespace lift::tune
