#!/usr/bin/env bash
# mesa_offline.sh [FOLDER]: builds Mesa's compilers for Mali (Panfrost) and Adreno (freedreno) GPUs, which
# `liftc offline --target mali-g72|mali-g57|adreno-630` asks for the cost of kernels. No such GPU is needed: Mesa's shims
# stand in for the kernel's drivers. Needs root, a Debian host, 8 GB and about 25 minutes of 2 cores. All goes to FOLDER
# (/opt/liftc-mesa), a Debian 13, since Debian 12's Mesa is too old, but for the command /usr/local/bin/liftc-mesa.
set -euo pipefail
cd "$(dirname "$0")"

folder=$(realpath -m "${1:-/opt/liftc-mesa}")
release=trixie
packages=(
  gcc g++ libc6-dev meson ninja-build pkgconf bison flex dpkg-dev                        # tools
  python3-mako python3-yaml python3-packaging python3-pycparser python3-setuptools
  rustc bindgen rustfmt                                                                   # of rusticl
  llvm-19-dev libclang-19-dev libclang-cpp19-dev libclang-common-19-dev libllvmspirvlib-19-dev libclc-19-dev libclc-19 spirv-tools
  libdrm-dev libelf-dev libexpat1-dev zlib1g-dev libzstd-dev libudev-dev libarchive-dev libxml2-dev liblua5.4-dev
  glslang-tools ocl-icd-opencl-dev
)
options=(
  -Dbuildtype=release -Db_ndebug=true -Doptimization=1 -Drust_std=2021
  -Dgallium-drivers=panfrost,freedreno -Dvulkan-drivers= -Dfreedreno-kmds=msm -Dtools=drm-shim
  -Dgallium-rusticl=true -Dllvm=enabled -Dshared-llvm=enabled
  -Dstatic-libclc=all
  -Dplatforms= -Dglx=disabled -Degl=disabled -Dgbm=disabled -Dopengl=false -Dgles1=disabled -Dgles2=disabled
  -Dgallium-va=disabled -Dgallium-vdpau=disabled -Dgallium-xa=disabled -Dgallium-nine=false
  -Dlibunwind=disabled -Dlmsensors=disabled -Dvalgrind=disabled -Dzstd=enabled
  -Dshader-cache=disabled -Dxmlconfig=disabled -Dbuild-tests=false
)
targets=(
  src/gallium/targets/rusticl/libRusticlOpenCL.so.1.0.0
  src/panfrost/drm-shim/libpanfrost_noop_drm_shim.so
  src/freedreno/drm-shim/libfreedreno_noop_drm_shim.so
)

((EUID == 0)) || { echo "mesa_offline: needs root, for a Debian in a folder" >&2; exit 1; }

# A command inside, with /proc, which goes away with it.
inside() {
  unshare --mount sh -c 'root=$1; shift; mount -t proc proc "$root/proc"; exec chroot "$root" "$@"' inside \
    "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

if [[ ! -e $folder/.base ]]; then
  command -v debootstrap >/dev/null || apt-get --quiet=2 install --yes --no-install-recommends debootstrap
  echo "mesa_offline: Debian 13 into $folder"
  debootstrap --variant=minbase "$release" "$folder" >"$folder.log" 2>&1 || { tail "$folder.log" >&2; exit 1; }
  touch "$folder/.base"
fi
if [[ ! -e $folder/.packages ]]; then
  echo "mesa_offline: what Mesa is built with"
  inside sh -c "sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >/etc/apt/sources.list.d/source.list"
  inside apt-get --quiet=2 update
  inside apt-get --quiet=2 install --yes --no-install-recommends "${packages[@]}" >"$folder/packages.log" 2>&1 ||
    { tail "$folder/packages.log" >&2; exit 1; }
  touch "$folder/.packages"
fi
if [[ ! -e $folder/mesa/meson.build ]]; then
  inside sh -c 'cd /root && apt-get --quiet=2 source mesa >/dev/null && mv mesa-*/ /mesa'
fi
if [[ ! -e $folder/.built ]]; then
  echo "mesa_offline: Mesa, see $folder/mesa.log"
  {
    [[ -e $folder/mesa/build/build.ninja ]] ||
      inside meson setup /mesa/build /mesa --wrap-mode=nofallback "${options[@]}"
    inside nice -n 19 ninja -C /mesa/build "${targets[@]}"
  } >"$folder/mesa.log" 2>&1 || { tail -n 30 "$folder/mesa.log" >&2; exit 1; }
  touch "$folder/.built"
fi

# The program that hands a kernel to rusticl, and the command that starts it without root: with the folder's own loader.
cp mesa_offline/build_kernels.c "$folder/build_kernels.c"
inside gcc -O1 -Wall -o /build_kernels /build_kernels.c -lOpenCL
ln -sfn llvm-19/lib "$folder/usr/lib/lib"  # where libclang, started from here, looks for OpenCL's headers
echo "$folder/mesa/build/src/gallium/targets/rusticl/libRusticlOpenCL.so.1.0.0" >"$folder/rusticl.icd"
sed "s|@FOLDER@|$folder|" mesa_offline/liftc-mesa.in >/usr/local/bin/liftc-mesa
chmod 755 /usr/local/bin/liftc-mesa
echo "mesa_offline: liftc-mesa is ready"
