#!/usr/bin/env bash
# check.sh LIFTC SOURCE CASE CC CXX [FLAGS…]: the C library that liftc compiles a program to, built and run with the
# host program of the case (dot, gaussian_blur, conv, two: two plans in one program, limits: of devices, iterate: a loop of
# launches, failed: a call whose event fails, or docs: the example of docs/host_code.md).
set -euo pipefail
liftc=$1 source=$2 case=$3 cc=$4 cxx=$5
shift 5
here=$source/tests/host
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# tensor NAME TYPE SIZES…: NAME.npy with random elements, by way of a program that returns its input.
tensor() {
  local name=$1 type=$2
  shift 2
  local dims="" n
  for n in "$@"; do dims+="[$n]"; done
  echo "def $name(x: $dims$type): $dims$type = map(fun v => v, x)" >"$name.lift"
  "$liftc" eval "$name.lift" --fill random:7 -o "$name.npy" --quiet
}

build() { # SOURCE FLAGS…
  "$cc" -std=c99 -Wall -Wextra -Werror -pedantic -DCL_TARGET_OPENCL_VERSION=120 -I. -I"$here" "$@" \
    "${sources[@]}" -o main "${flags[@]}" -lm
  printf '#include "host.h"\n#include "host.h"\nint main() { return 0; }\n' >header.cpp
  "$cxx" -std=c++11 -Wall -Wextra -Werror -pedantic -I. -fsyntax-only header.cpp
}
flags=("$@")
sources=(host.c)

case $case in
  dot)
    "$liftc" compile "$source/examples/dot.lift" -o .
    tensor x f32 1000
    tensor y f32 1000
    "$liftc" eval "$source/examples/dot.lift" -i x=x.npy -i y=y.npy -o expected.npy --quiet
    build "$here/dot.c"
    ./main 1000 x.npy y.npy expected.npy
    ;;
  gaussian_blur)
    "$liftc" compile "$source/examples/gaussian_blur.lift" --size h=40 --size w=33 -o .
    tensor image u8 40 33
    "$liftc" eval "$source/examples/gaussian_blur.lift" -i image=image.npy -o expected.npy --quiet
    build "$here/gaussian_blur.c"
    ./main image.npy expected.npy
    ;;
  conv)
    layer=mb1ic3ih8oc4oh8kh3ph1
    tensor input f32 1 8 8 3
    tensor weights f32 4 3 3 3
    tensor biases f32 4
    "$liftc" conv $layer run --device emulator -i input=input.npy -i weights=weights.npy -i biases=biases.npy \
      -o expected.npy
    for options in "" "--profile mali-g72 --family tiledImages"; do
      # shellcheck disable=SC2086
      "$liftc" conv $layer compile $options -o . >files
      build "$here/program.c" -DNAME=conv -DINPUTS='in[0], in[1], in[2]' \
        -DSIZES='conv_bytes_of_weights(), conv_bytes_of_biases(), conv_bytes_of_input()'
      ./main weights.npy biases.npy input.npy expected.npy
    done
    grep -q image2d_t conv.cl
    ;;
  two)
    "$liftc" compile "$source/examples/dot.lift" -o any --prefix any_size
    "$liftc" compile "$source/examples/dot.lift" --size n=1000 -o this --prefix this_size
    printf '#include "any/host.h"\n#include "this/host.h"\n' >host.h
    sources=(any/host.c this/host.c)
    tensor x f32 1000
    tensor y f32 1000
    "$liftc" eval "$source/examples/dot.lift" -i x=x.npy -i y=y.npy -o expected.npy --quiet
    build "$here/two.c"
    ./main x.npy y.npy expected.npy
    ;;
  limits) # of the device, made small by LIFT_QUIRKS
    "$liftc" conv ic64ih14oc64kh3ph1 compile --family blocked --profile mali-g72 --no-tuned -o . >files
    build "$here/limits.c"
    ./main 0
    LIFT_QUIRK=small-memory LD_PRELOAD=$LIFT_QUIRKS ./main -5 | tee log
    grep -qx 'kernel conv needs [0-9]* bytes of local memory, the device has 1024' log
    "$liftc" conv ic64ih14oc64kh3ph1 compile --profile mali-g72 --family naive -o . >files
    build "$here/limits.c"
    LIFT_QUIRK=small-groups LD_PRELOAD=$LIFT_QUIRKS ./main -54 | tee log
    grep -qx 'kernel conv has work-groups of [0-9]* work-items, the device allows 16' log
    LIFT_QUIRK=flat-groups LD_PRELOAD=$LIFT_QUIRKS ./main -55 | tee log
    grep -qx 'kernel conv has work-groups of [0-9]* work-items in dimension 0, the device allows 8' log
    "$liftc" compile "$here/limits.lift" --profile mali-g72 --prefix conv -o . >files
    build "$here/limits.c"
    ./main 0
    LIFT_QUIRK=small-groups LD_PRELOAD=$LIFT_QUIRKS ./main -54 | tee log
    grep -qx 'kernel limits has work-groups of [0-9]* work-items, the device allows 16' log
    "$liftc" conv ic64ih14oc64kh3ph1 compile --profile mali-g72 --family naive --elements h16 -o . >files
    build "$here/limits.c"
    if "$liftc" devices | head -n 1 | grep -q fp16; then
      ./main 0
    else
      ./main -33 | tee log
      grep -qx 'kernel conv needs cl_khr_fp16, which the device does not report' log
    fi
    ;;
  iterate)
    "$liftc" compile "$here/iterate.lift" -o . --prefix iterate
    tensor xs f32 1000
    arguments=()
    for count in 0 1 2 5 8; do
      "$liftc" eval "$here/iterate.lift" --size k=$count -i xs=xs.npy -o out.0=$count.npy -o out.1=$count.most.npy --quiet
      arguments+=($count $count.npy $count.most.npy)
    done
    build "$here/iterate.c"
    ./main 1000 xs.npy "${arguments[@]}"
    ;;
  failed)
    "$liftc" compile "$here/failed.lift" --constant w -o . --prefix failed
    build "$here/failed.c"
    ./main
    ;;
  docs)
    sed -n '/^```c$/,/^```$/p' "$source/docs/host_code.md" | sed '/^```/d' >example.c
    "$liftc" compile "$source/examples/dot.lift" -o .
    build example.c
    ./main | tee result
    grep -qx 'dot = 2000' result
    ;;
  *) echo "unknown case $case"; exit 1 ;;
esac
