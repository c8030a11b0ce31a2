#!/usr/bin/env bash
# runtime.sh RUNTIME [COMMAND…]: runs a command, liftc or a program of its tests, on one OpenCL implementation. Without a
# command it gets the implementation ready. Nothing is installed: what is missing is unpacked into the folder that
# LIFTC_RUNTIMES names (/opt/liftc-runtimes), and the loader is told of it for this command only.
#   pocl       PoCL 3.1, as scripts/setup.sh installs it
#   oclgrind   the simulator, likewise, with 32 KiB of local memory and groups of 64; fails when it finds races or
#              accesses out of bounds
#   intel      Intel's runtime for processors, of PyPI
#   rusticl    Mesa 22.3's, Debian 12, on llvmpipe
#   pocl6, rusticl25   PoCL 6.0 and Mesa 25.0's rusticl of Debian 13: root or user namespaces are needed, since its
#              libraries lie over the system's, seen by this command only
set -euo pipefail
here=$(dirname "$(realpath "$0")")
runtime=${1:?"runtime.sh RUNTIME [COMMAND…]"}
shift
folder=${LIFTC_RUNTIMES:-/opt/liftc-runtimes}
on=()
unset LIFTC_DEVICE OCL_ICD_VENDORS OCL_ICD_FILENAMES

only() { # LIBRARY: the only driver that the loader is told of
  mkdir -p "$folder/vendors/$runtime"
  echo "$1" >"$folder/vendors/$runtime/only.icd"
  export OCL_ICD_VENDORS=$folder/vendors/$runtime
}
over() { # PACKAGES' FOLDER: commands see it laid over /usr
  local as=(--mount)
  ((EUID == 0)) || as+=(--map-root-user)
  on=(unshare "${as[@]}" sh -c 'mount -t overlay overlay -o "lowerdir=$0/usr:/usr" /usr && exec "$@"' "$1")
}

case $runtime in
  pocl) only libpocl.so.2 && export LIFTC_PLATFORM='Portable Computing Language' ;;
  oclgrind)
    export LIFTC_PLATFORM=Oclgrind OCLGRIND_OPTIONS=${OCLGRIND_OPTIONS---local-mem-size 32768 --max-wgsize 64}
    on=("$here/../tests/oclgrind.sh")
    ;;
  intel)
    library=$folder/intel/lib/libintelocl.so
    if [[ ! -e $library ]]; then
      echo "runtime: intel-opencl-rt into $folder/intel" >&2
      python3 -m venv "$folder/intel"
      # The second is not declared as a dependency of the first.
      "$folder/intel/bin/pip" install --quiet intel-opencl-rt intel-cmplr-lib-rt
    fi
    only "$library" && export LIFTC_PLATFORM=Intel
    ;;
  rusticl)
    "$here/unpack.sh" "$folder/rusticl" installed mesa-opencl-icd libclc-15 libclang-common-15-dev
    over "$folder/rusticl"
    only libRusticlOpenCL.so.1 && export LIFTC_PLATFORM=rusticl RUSTICL_ENABLE=llvmpipe
    ;;
  pocl6)
    "$here/unpack.sh" "$folder/pocl6" trixie pocl-opencl-icd
    over "$folder/pocl6"
    only libpocl.so.2 && export LIFTC_PLATFORM='Portable Computing Language'
    ;;
  rusticl25)
    "$here/unpack.sh" "$folder/rusticl25" trixie mesa-opencl-icd
    over "$folder/rusticl25"
    only libRusticlOpenCL.so.1 && export LIFTC_PLATFORM=rusticl RUSTICL_ENABLE=llvmpipe
    ;;
  *)
    echo "runtime: no runtime '$runtime'; there are pocl, oclgrind, intel, rusticl, pocl6 and rusticl25" >&2
    exit 2
    ;;
esac
(($# == 0)) || exec "${on[@]}" "$@"
