#!/usr/bin/env python3
"""schedule_spaces.py SHAPES [LIFTC]: how many schedules there are of convolutions, in FlexTensor's space, in AutoTVM's
template, and (where LIFTC is given) in each of liftc's families.

Counted are ways to split loops: a loop of length n into k loops whose lengths multiply to n. FlexTensor (Zheng et al.,
ASPLOS 2020) splits spatial loops into four and reduction loops into three; what it chooses besides (order, fusion,
unrolling) does not depend on the shape and is taken to be 6! * 2, with which its figures come out: 3.9e9 to 2.4e12 for the
C2D cases, 2027 times AutoTVM's. AutoTVM's template for CUDA (conv2d_direct) splits into four and two, and has 3 * 2
choices of unrolling.
"""
import math
import re
import subprocess
import sys

FLEXTENSOR_REST = math.factorial(6) * 2
AUTOTVM_REST = 3 * 2


def splits(n, parts):
    ways, prime = 1, 2
    while n > 1:
        power = 0
        while n % prime == 0:
            n //= prime
            power += 1
        ways *= math.comb(power + parts - 1, parts - 1)
        prime += 1
    return ways


def families(liftc, descriptor):
    text = subprocess.run([liftc, "tune", "--conv", descriptor, "--explain-constraints"], capture_output=True,
                          text=True, check=True).stdout
    found, family = {}, None
    for line in text.splitlines():
        if line.startswith("family "):
            family = line.split()[1]
        elif (points := re.match(r"(?:about )?([\d.e+]+) points", line)) and family:
            found[family] = float(points.group(1))
    return found


def main():
    ratios, sizes = [], []
    print(f"{'layer':<8} {'FlexTensor':>12} {'AutoTVM':>10} {'ratio':>7}")
    for line in open(sys.argv[1]):
        match = re.match(r'ic(\d+)ih(\d+)oc(\d+)kh(\d+)sh(\d+)ph(\d+)n"(.*)"', line)
        if not match:
            continue
        channels, height, filters, kernel, stride, padding = map(int, match.groups()[:6])
        out = (height + 2 * padding - kernel) // stride + 1
        spatial = splits(filters, 4) * splits(out, 4) ** 2
        flextensor = spatial * splits(channels, 3) * splits(kernel, 3) ** 2 * FLEXTENSOR_REST
        autotvm = spatial * splits(channels, 2) * splits(kernel, 2) ** 2 * AUTOTVM_REST
        sizes.append(flextensor)
        ratios.append(flextensor / autotvm)
        row = f"{match.group(7):<8} {flextensor:>12.2g} {autotvm:>10.2g} {ratios[-1]:>7.0f}"
        if len(sys.argv) > 2:
            row += "".join(f"  {name} {points:.2g}" for name, points in families(sys.argv[2], line.split("n\"")[0]).items())
        print(row)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"FlexTensor: {min(sizes):.2g} to {max(sizes):.2g}; geometric mean of the ratios {mean:.0f}")


if len(sys.argv) < 2:
    sys.exit(__doc__)
main()
