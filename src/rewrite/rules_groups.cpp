// Rules of layers of many groups with few channels each: groups inside of windows, lanes over groups. What belongs to a
// group comes in three arrays: its inputs, its kernels' weights, its kernels' biases.
#include "tables.hpp"

namespace lift::rewrite::detail {

std::vector<RuleRow> groupRules() {
  return {
      {"groupsPadded",
       "map(fun (x, u, v) => f((x, u, v)), zip((xs: [n]t), us, vs)) => "
       "take(n, map(fun (x, u, v) => f((x, u, v)), zip(padClamp(0, r, xs), padClamp(0, r, us), padClamp(0, r, vs))))",
       "padding to whole vectors"},
      {"groupsSplit",
       "map(fun (x, u, v) => f((x, u, v)), zip(xs, us, vs)) => "
       "join(map(fun (xc, uc, vc) => map(fun (x, u, v) => f((x, u, v)), zip(xc, uc, vc)), "
       "zip(split(k, xs), split(k, us), split(k, vs))))",
       "lift-conv §3.4"},
      {"groupsInWindows",
       "map(fun (xss, u, v) => map(fun rows => map(fun w => f((w, u, v)), slide(m, t, transpose(rows))), "
       "slide(n, s, g(xss))), zip(xsss, us, vs)) => "
       "transpose(map(fun r => transpose(r), map(fun rows => map(fun w => "
       "map(fun (x, u, v) => f((x, u, v)), zip(transpose(map(fun c => transpose(c), w)), us, vs)), "
       "slide(m, t, transpose(rows))), "
       "slide(n, s, map(fun r => transpose(r), transpose(map(fun xss => g(xss), xsss)))))))",
       "loop interchange: windows of all groups"},
      {"kernelsOutOfGroups",
       "map(fun (x, u, v) => map(fun (a, b) => f((x, a, b)), zip(u, v)), zip(xs, us, vs)) => "
       "transpose(map(fun (as, bs) => map(fun (x, a, b) => f((x, a, b)), zip(xs, as, bs)), "
       "zip(transpose(us), transpose(vs))))",
       "loop interchange"},
      {"mapReduceGroups",
       "map(fun (x, a, b) => reduce(b, fun (acc, (p, q)) => f((acc, p, q)), zip(g(x), h(a))), zip(xs, as, bs)) => "
       "reduce(bs, fun (accs, (ps, qs)) => map(fun (acc, p, q) => f((acc, p, q)), zip(accs, ps, qs)), "
       "zip(transpose(map(fun x => g(x), xs)), transpose(map(fun a => h(a), as))))",
       "lift-conv §4.2, one step of all groups' reductions"},
      {"vectoriseGroups",
       "reduce(i, fun (accs, (ps, qs)) => map(fun (acc, p, q) => f((acc, p, q)), zip(accs, ps, qs)), zip(pss, qss)) => "
       "asScalar(reduce(asVector(w, i), fun (accs, (ps, qs)) => "
       "map(fun (acc, p, q) => vectorize(w, fun (r, s, t) => f((r, s, t)), (acc, p, q)), zip(accs, ps, qs)), "
       "zip(map(fun ps => asVector(w, ps), pss), map(fun qs => asVector(w, qs), qss))))",
       "lift-conv §4.3, lanes over groups"},
      {"copyGroups",
       "map(f, (xs: [n][w][h][g][c]t)) => map(fun x => let("
       "fun b => f(transpose(map(fun row => map(fun p => transpose(p), row), b))), "
       "toLocal(map(fun row => map(fun p => map(fun gs => asScalar(gs), p), row), "
       "id(map(fun row => map(fun p => map(fun gs => asVector(v, gs), transpose(p)), row), transpose(x)))))), xs)",
       "lift-conv §4.2, in vectors over groups"},
  };
}

}  // namespace lift::rewrite::detail
