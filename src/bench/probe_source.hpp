#pragma once

namespace lift::bench {

extern const char* const probeSource;  // tools/bench/conv_blocked.cl

}  // namespace lift::bench
