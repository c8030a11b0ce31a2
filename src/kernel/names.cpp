#include "names.hpp"

#include <cctype>

namespace lift::kernel {

std::string identifierFor(std::string_view wish, const std::function<bool(const std::string&)>& isReserved) {
  std::string s;
  for (char c : wish) s += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  // A leading underscore is the implementation's, a leading digit no identifier.
  s.erase(0, s.find_first_not_of('_') == std::string::npos ? s.size() : s.find_first_not_of('_'));
  if (s.empty()) return "v";
  if (std::isdigit(static_cast<unsigned char>(s[0])) != 0) s.insert(0, "v");
  if (!isReserved(s)) return s;
  return isReserved(s + '_') ? "v_" + s : s + '_';
}

std::string Names::take(std::string_view wish) {
  std::string base = identifierFor(wish, isReserved_);
  std::string name = base;
  const auto known = counter_.find(base);
  int n = known == counter_.end() ? 0 : known->second;
  const int before = n;
  while (!taken_.insert(name).second) name = base + '_' + std::to_string(++n);
  counter_[base] = n;
  log_.push_back({name, std::move(base), before});
  return name;
}

void Names::leave() {
  const std::size_t mark = marks_.back();
  marks_.pop_back();
  while (log_.size() > mark) {
    const Change& c = log_.back();
    taken_.erase(c.name);
    counter_[c.base] = c.counter;
    log_.pop_back();
  }
}

}  // namespace lift::kernel
