// Private to tune: the fields of the records of a database, once for files and tables.
#pragma once

#include <concepts>
#include <type_traits>

#include "lift/tune_db.hpp"

namespace lift::tune {

template <class T, class Row>
concept RowOf = std::same_as<std::remove_const_t<T>, Row>;

template <class F>
void each(F& /*f*/) {}
template <class F, class T, class... More>
void each(F& f, const char* name, T& value, More&&... more) {
  f(name, value);
  each(f, more...);
}

// These call f(name, value) for every field of a row, in the order of the columns of its table.
template <RowOf<Key> K, class F>
void forEachField(K& k, F&& f) {
  each(f, "problem", k.problem, "device", k.device, "kernels", k.kernels, "family", k.family, "config", k.config,
       "stage", k.phase);
}
template <RowOf<Measurement> M, class F>
void forEachField(M& m, F&& f) {
  forEachField(m.key, f);
  each(f, "derivation", m.derivation, "generator", m.generator, "status", m.status, "times_ms", m.times,
       "workspace_bytes", m.workspaceBytes, "compile_ms", m.compileMs, "build_ms", m.buildMs, "first_ms", m.firstMs,
       "timing_ms", m.timingMs, "max_error", m.maxError, "tolerance", m.tolerance, "detail", m.detail, "provenance",
       m.provenance, "measured_at", m.measuredAt);
}
template <RowOf<ProblemRow> P, class F>
void forEachField(P& p, F&& f) {
  each(f, "key", p.key, "label", p.label, "command", p.command, "operations", p.operations, "tensor_bytes",
       p.tensorBytes);
}
template <RowOf<DeviceRow> D, class F>
void forEachField(D& d, F&& f) {
  each(f, "id", d.id, "name", d.name, "vendor", d.vendor, "platform", d.platform, "type", d.type, "driver", d.driver,
       "properties", d.properties);
}
template <RowOf<DerivationRow> D, class F>
void forEachField(D& d, F&& f) {
  each(f, "id", d.id, "text", d.text);
}

// What a row is called: its table, and its kind in files.
constexpr const char* kindOf(const Measurement&) { return "measurement"; }
constexpr const char* kindOf(const ProblemRow&) { return "problem"; }
constexpr const char* kindOf(const DeviceRow&) { return "device"; }
constexpr const char* kindOf(const DerivationRow&) { return "derivation"; }

}  // namespace lift::tune
