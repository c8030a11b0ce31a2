#!/usr/bin/env bash
# predict_paper.sh [POINTS]: Tables 3 and 4 and Figures 5 and 6 of the Lift paper (docs/convolutions.md) for Mali-G72 as
# `liftc tune --predict` predicts them, beside the printed numbers, as Markdown. POINTS of the paper's family are
# predicted for each layer (default 100). No device is needed; where liftc-mesa is installed (scripts/mesa_offline.sh), what
# it says of spills counts for the family that is chosen.
set -euo pipefail
cd "$(dirname "$0")/.."
liftc=${LIFTC:-build/liftc}
exec python3 - "$liftc" "${1:-100}" <<'PYTHON'
import json, math, shutil, statistics, subprocess, sys

liftc, points = sys.argv[1], sys.argv[2]
# Table 3: ARM Compute Library's direct convolution and GEMM, and Lift, in ms.
printed = {0: (38.61, 2.98, 9.09), 2: (852.03, 80.14, 77.08), 5: (426.22, 37.94, 40.65), 7: (906.66, 88.09, 69.60),
           10: (452.48, 23.73, 58.90), 12: (975.69, 60.45, 84.75), 17: (546.63, 22.30, 46.07),
           19: (1201.93, 58.78, 94.83), 24: (311.04, 17.13, 19.80)}
table4 = "theta=5,kappa=4,sigma=3,omega=144,rho=11,upsilon=4,coalesce=1,unroll=1"

def run(*words):
    return json.loads(subprocess.run([liftc, *words], check=True, capture_output=True, text=True).stdout)

def tune(layer, *words):
    return run("tune", "--conv", layer, "--profile", "mali-g72", "--predict", "--json", "-q", *words)

layers = {}
for line in open("shapes/vgg16.txt"):
    if not line.startswith("#"):
        name = line.split('"')[1]
        layers[int(name.split("_")[1])] = line.strip()

point = tune(layers[7], "--family", "paper", "--config", table4)
print(f"Table 4's point of layer 7: {point['ms']:.1f} ms predicted, {printed[7][2]:.2f} printed\n")
# What is chosen for the layer (among the direct families, by the name of one): family, ms, workspace in MB; where
# liftc-mesa is, with its spills, and what limits the longest kernel.
def chosen(layer, *family):
    choice = run("conv", layer, "compile", "--profile", "mali-g72", "--no-tuned", *family, "--json")
    family = ("--family", choice["family"], "--config", ",".join(f"{k}={v}" for k, v in choice["config"].items()))
    point = tune(layer, *family)
    if not shutil.which("liftc-mesa"):
        return choice["family"], point["ms"], point["workspace_bytes"] * 1e-6, ""
    row = run("offline", layer, "--no-tuned", *family, "--target", "mali-g72", "--json")["rows"][0]
    limit = max(row["predicted"], key=lambda k: k["ms"])["limit"]
    return choice["family"], row["predicted_ms"], point["workspace_bytes"] * 1e-6, limit

print("| Layer | ARM direct | ARM GEMM | Lift, printed | Lift, predicted | `tiledImages`, predicted | limited by | "
      "printed by `tiledImages` | first choice, predicted | limited by | "
      "MByte/s of outputs: printed, `tiledImages`, first choice | workspace MB: `paper`, `tiledImages`, first choice |")
print("|---" * 12 + "|")
off, gain, firsts = [], [], []
for n, layer in layers.items():
    direct, gemm, lift = printed[n]
    paper = tune(layer, "--family", "paper", "--explorer", "random", "--points", points)["rows"][0]["best"]
    images, first = chosen(layer, "--family", "tiledImages"), chosen(layer)
    off.append(lift / paper["ms"])
    gain.append(lift / images[1])
    firsts.append(lift / first[1])
    out = {0: 64 * 224**2, 2: 64 * 224**2, 5: 128 * 112**2, 7: 128 * 112**2, 10: 256 * 56**2, 12: 256 * 56**2,
           17: 512 * 28**2, 19: 512 * 28**2, 24: 512 * 14**2}[n] * 4e-6
    print(f"| {n} | {direct} | {gemm} | {lift} | {paper['ms']:.1f} | {images[1]:.1f} | {images[3]} | {gain[-1]:.2f} | "
          f"`{first[0]}`: {first[1]:.1f} | {first[3]} | "
          f"{out / lift * 1e3:.0f}, {out / images[1] * 1e3:.0f}, {out / first[1] * 1e3:.0f} | "
          f"{paper['workspace_bytes'] * 1e-6:.1f}, {images[2]:.1f}, {first[2]:.1f} |")
    sys.stdout.flush()
mean = math.exp(statistics.mean(map(math.log, off)))
spread = math.exp(statistics.stdev(map(math.log, off)))
print(f"\nPrinted by predicted, `paper`: geometric mean {mean:.2f}, times or by {spread:.2f} (one standard deviation of "
      f"logarithms), from {min(off):.2f} to {max(off):.2f}")
for name, ratios in [("`tiledImages`", gain), ("the first choice", firsts)]:
    mean = math.exp(statistics.mean(map(math.log, ratios)))
    print(f"Printed by {name}, predicted: geometric mean {mean:.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")
PYTHON
