#!/usr/bin/env bash
# offline.sh [WORDS…]: installs the compilers of `liftc offline` that Debian 12 and PyPI have (about 200 MB), and builds
# by all that are found the kernels of VGG-16's layer 10 in two families, or what the words name, as `liftc offline`
# takes them. Fails when a kernel does not build or exceeds its device. Intel's compiler, whose package would register a
# driver, is unpacked into /opt/liftc-ocloc, with the command /usr/local/bin/liftc-ocloc. Mesa's compilers for Mali and
# Adreno come with scripts/mesa_offline.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(clang-15 libclang-common-15-dev llvm-spirv-15 spirv-tools libclc-15 rocm-device-libs)
missing=() as_root=()
((EUID == 0)) || as_root=(sudo)
for package in "${packages[@]}"; do
  dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if ((${#missing[@]} > 0)); then
  apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0)
  echo "offline: installing ${missing[*]}"
  "${apt[@]}" update
  "${apt[@]}" install --yes --no-install-recommends "${missing[@]}" </dev/null >/dev/null
fi
ocloc=/opt/liftc-ocloc command=/usr/local/bin/liftc-ocloc
if ! command -v ocloc >/dev/null && [[ ! -x $command ]]; then
  "${as_root[@]}" scripts/unpack.sh "$ocloc" installed intel-opencl-icd
  "${as_root[@]}" tee "$command" >/dev/null <<SCRIPT
#!/bin/sh
export LD_LIBRARY_PATH=$ocloc/usr/lib/x86_64-linux-gnu\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
exec $ocloc/usr/bin/ocloc "\$@"
SCRIPT
  "${as_root[@]}" chmod 755 "$command"
fi
ptxas=/opt/liftc-ptxas/nvidia/cuda_nvcc/bin/ptxas
if ! command -v ptxas >/dev/null && [[ ! -x /usr/local/cuda/bin/ptxas && ! -x $ptxas ]]; then
  echo "offline: installing nvidia-cuda-nvcc-cu12"
  python3 -m pip install --quiet --no-deps --target /opt/liftc-ptxas nvidia-cuda-nvcc-cu12
fi

liftc=build/liftc
[[ -x $liftc ]] || scripts/build.sh release liftc
if (($# > 0)); then exec "$liftc" offline "$@"; fi
failed=0
for family in paper naive; do
  echo "== family $family"
  "$liftc" offline mb1ic128ih56oc256oh56kh3ph1 --family "$family" --no-tuned || failed=1
done
exit "$failed"
