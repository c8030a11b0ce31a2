#!/usr/bin/env bash
# setup.sh [tests] [fuzz]: installs the Debian packages that the build and the demo need, and what only the tests, or the
# fuzzers, need besides. Does nothing when all are there.
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config git clang-format                        # tools
  libfmt-dev nlohmann-json3-dev libcli11-dev catch2                        # C++ libraries
  zlib1g-dev libssl-dev libsqlite3-dev
  ocl-icd-opencl-dev opencl-headers opencl-clhpp-headers clinfo            # OpenCL
  pocl-opencl-icd oclgrind                                                 # its devices: processor, checker
  libdnnl-dev                                                              # judge and peer of convolutions
  libopenblas-dev libclblast-dev                                           # peers of convolutions
  libxgboost-dev                                                           # trees of the tuner's models (5.5 MB)
)
for group in "$@"; do
  case $group in
    tests) packages+=(chromium python3-distributed) ;;  # opens the report; sweeps on several hosts
    fuzz) packages+=(clang-14 libclang-rt-14-dev) ;;
    *)
      echo "setup: no group of packages '$group'; there are tests and fuzz" >&2
      exit 2
      ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; install the counterparts of: ${packages[*]}"
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) || status=absent
  [[ $status == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || {
    echo "setup: neither root nor sudo; as root run: apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0)

echo "setup: installing ${missing[*]}"
"${apt[@]}" update || echo "setup: apt-get update failed; going on with the package lists that are there" >&2
"${apt[@]}" install --yes --no-install-recommends "${missing[@]}" </dev/null >/dev/null  # errors stay visible
