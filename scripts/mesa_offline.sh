#!/usr/bin/env bash
# mesa_offline.sh [FOLDER]: installs Mesa's compilers for Mali (Panfrost) and Adreno (freedreno) GPUs, which
# `liftc offline --target mali-g72|mali-g57|adreno-630` asks for the cost of kernels. Debian 13 has them for the 64-bit
# ARM only: its packages run under QEMU. No such GPU is needed: Mesa's shims, the only thing that is compiled here, stand
# in for the kernel's drivers. Needs root, a Debian host, 1 GB and two to four minutes, most of them QEMU's. All goes to
# FOLDER (/opt/liftc-mesa), but for the command /usr/local/bin/liftc-mesa.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
folder=$(realpath -m "${1:-/opt/liftc-mesa}")
((EUID == 0)) || { echo "mesa_offline: needs root, for /usr/local/bin/liftc-mesa" >&2; exit 1; }
mkdir -p "$folder"
cd "$folder"

apt=(env DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 -o DPkg::Lock::Timeout=600)
"${apt[@]}" install --yes --no-install-recommends qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
  opencl-c-headers curl xz-utils </dev/null >/dev/null

# Packages of another release and processor, by an apt of their own that installs nothing.
release=trixie keys=/usr/share/keyrings/debian-archive-keyring.gpg
mkdir -p apt/lists/partial apt/cache/archives/partial packages root
touch apt/status
printf "%s [signed-by=$keys] http://deb.debian.org/debian $release main\n" deb deb-src >apt/sources.list
foreign=("${apt[@]}" -o Dir::State="$folder/apt" -o Dir::State::status="$folder/apt/status"
  -o Dir::State::Lists="$folder/apt/lists" -o Dir::Cache="$folder/apt/cache" -o Dir::Etc::sourcelist="$folder/apt/sources.list"
  -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o APT::Sandbox::User=root
  -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Install-Recommends=0)
if [[ ! -e .packages ]]; then
  echo "mesa_offline: Debian 13's Mesa for ARM into $folder"
  "${foreign[@]}" update
  "${foreign[@]}" install --print-uris mesa-opencl-icd ocl-icd-libopencl1 libclc-19 libdrm-dev | cut -d "'" -f 2 >uris
  (cd packages && xargs -n 1 -P 4 curl -sSfLO <../uris)
  for package in packages/*.deb; do dpkg-deb -x "$package" root; done
  ln -sfn usr/lib root/lib
  "${foreign[@]}" source --download-only mesa >/dev/null
  mkdir -p source
  tar -xf mesa_*.orig.tar.xz -C source --strip-components=1 --wildcards '*/include/*' '*/src/util/*' '*/src/c11/*' \
    '*/src/drm-shim/*' '*/src/panfrost/drm-shim/*' '*/src/freedreno/drm-shim/*'
  touch .packages
fi

# The shims, with what they use of Mesa's utilities; the program that hands a kernel to rusticl.
compile=(aarch64-linux-gnu-gcc -O1 -w -Wno-pragmas -D_GNU_SOURCE -DNDEBUG -DDETECT_OS_LINUX=1 -DDETECT_OS_POSIX=1)
for feature in PTHREAD SECURE_GETENV STRUCT_TIMESPEC TIMESPEC_GET ENDIAN_H MEMFD_CREATE __BUILTIN_CLZ __BUILTIN_CLZLL \
  __BUILTIN_FFS __BUILTIN_FFSLL __BUILTIN_CTZ __BUILTIN_POPCOUNT __BUILTIN_EXPECT; do
  compile+=("-DHAVE_$feature")
done
for gpu in panfrost freedreno; do
  (cd source && "${compile[@]}" -fPIC -shared -fvisibility=hidden -ffunction-sections -fdata-sections -Wl,--gc-sections,-z,defs \
    -DUSE_GCC_ATOMIC_BUILTINS -Iinclude -Isrc -I../root/usr/include -I../root/usr/include/libdrm \
    src/drm-shim/{device,drm_shim}.c "src/$gpu/drm-shim/${gpu}_noop.c" \
    src/util/{anon_file,futex,half_float,hash_table,log,memstream,os_file,os_misc,os_time,ralloc,set,simple_mtx,softfloat}.c \
    src/util/{u_call_once,u_cpu_detect,u_debug,u_math,u_printf,u_process,vma}.c src/c11/impl/{threads_posix,time}.c \
    -o "../${gpu}_shim.so" -ldl -lpthread -lm)
done
"${compile[@]}" -idirafter /usr/include "$here/mesa_offline/build_kernels.c" -o build_kernels \
  root/usr/lib/aarch64-linux-gnu/libOpenCL.so.1 -Wl,--unresolved-symbols=ignore-in-shared-libs
echo "$folder/root/usr/lib/aarch64-linux-gnu/libRusticlOpenCL.so.1" >rusticl.icd

# Reading OpenCL's library takes QEMU half a minute: Mesa's cache of that, which liftc-mesa copies for each kernel, since
# nothing is said of kernels that a cache has.
sed "s|@FOLDER@|$folder|" "$here/mesa_offline/liftc-mesa.in" >/usr/local/bin/liftc-mesa
chmod 755 /usr/local/bin/liftc-mesa
rm -rf cache
echo '__kernel void first(__global float* x) { x[get_global_id(0)] = 1; }' >first.cl
for gpu in mali-g72 mali-g57 adreno-630; do
  cp -r cache warm 2>/dev/null || mkdir warm
  LIFTC_MESA_CACHE=$folder/warm liftc-mesa "$gpu" first.cl >first.log 2>&1 || { tail first.log >&2; exit 1; }
  rm -rf cache
  mv warm cache
done
echo "mesa_offline: liftc-mesa is ready"
