#include "pass_list.hpp"

#include <algorithm>

#include "lift/diagnostic.hpp"

namespace lift::kernel {

const std::vector<Pass>& passes() {
  static const std::vector<Pass> all = {
      {"trips", "how often a work-item runs each parallel loop; loops that run once or never disappear", tripsPass},
      {"own", "private arrays that work-items share out: each keeps its part", ownPass},
      {"unroll", "complete unrolling, where asked for and where private arrays become scalars by it", unrollPass},
      {"simplify", "conditions that are proved or refuted, operations on literals", simplifyPass},
      {"nest", "loops that divide their index by a divisor of their count become two", nestPass},
      {"split", "loops are split where conditions change that are known in between", splitPass},
      {"scalars", "private arrays with constant indices become variables", scalarsPass},
      {"declare", "declarations move down to the first assignment", declarePass},
      {"copies", "values used once, literals and renamings go to where they are used", copiesPass},
      {"dead", "variables, arrays and statements without effect disappear", deadPass},
      {"fuse", "loops of one count that read the same memory into registers become one", fusePass},
      {"unswitch", "a condition that many values share is asked once", unswitchPass},
      {"absent", "of finite numbers: iterations that only add what was padded with zeros are left out", absentPass},
      {"version", "loops that fill tiles: without conditions where they all hold, which is asked once", versionPass},
      {"lanes", "vectors of which only the first lanes are used get narrower", lanesPass},
      {"widen", "for processors: loops that copy narrow vectors one behind the other copy wide ones", widenPass},
      {"order", "scalars that are stored far apart in turns are stored in the order of memory", orderPass},
      {"transpose", "vectors gathered at neighbouring places are loaded along memory, and transposed", transposePass},
      {"join", "where asked for: neighbouring scalars of global memory are accessed as vectors", joinPass},
      {"narrow", "vectors wider than the target's registers become several", narrowPass},
      {"stream", "results larger than the last cache are stored past it", streamPass},
      {"prefetch", "lines of large results are asked for before short sums that are stored to them", prefetchPass},
      {"barriers", "barriers between work-items that exchange data through memory", barriersPass},
      {"ahead", "where work-items wait for each other in every step: the next step's copies are loaded in this one",
       aheadPass},
      {"hoist", "repeated or loop-invariant index arithmetic gets a name", hoistPass},
  };
  return all;
}

const Pass* passNamed(std::string_view name) {
  const auto& all = passes();
  const auto found = std::ranges::find_if(all, [&](const Pass& p) { return p.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<const Pass*> pipeline() {
  std::vector<const Pass*> list;
  for (const char* name :
       {"trips",     "own",  "unroll",   "trips",    "simplify", "nest",     "split",   "scalars", "declare", "copies",
        "dead",      "fuse", "unswitch", "simplify", "dead",     "absent",   "version", "lanes",   "widen",   "order",
        "transpose", "join", "narrow",   "stream",   "prefetch", "barriers", "ahead",   "hoist"})
    list.push_back(passNamed(name));
  return list;
}

Kernel optimise(Kernel kernel, const PassOptions& options) {
  if (options.verifyEach) verify(kernel);
  for (const Pass* pass : pipeline()) {
    if (std::ranges::find(options.skip, pass->name) != options.skip.end()) continue;
    kernel = pass->run(std::move(kernel), options);
    if (options.verifyEach) {
      try {
        verify(kernel);
      } catch (const InternalError& e) {
        throw InternalError("after pass " + std::string(pass->name) + ": " + e.what());
      }
    }
    if (options.after) options.after(*pass, kernel);
  }
  return kernel;
}

}  // namespace lift::kernel
