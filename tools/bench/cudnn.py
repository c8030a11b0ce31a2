#!/usr/bin/env python3
"""Times of NVIDIA's libraries, by way of PyTorch, on the shapes that `liftc bench` takes.

usage: tools/bench/cudnn.py [--repetitions N] [--json] SHAPES_FILE...

For each layer the fastest of cuDNN's float32 convolutions (TF32 off, cudnn.benchmark on) with NCHW and with NHWC tensors,
bias added; for each `gemm` and `gemv`, cuBLAS's product. Runs follow one another for about `BATCH_MS` as a CUDA graph, so
that the host's calls cost nothing; their mean is a repetition, and the median of the repetitions is printed. Times are in
ms. Needs PyTorch with CUDA.
"""

import argparse
import json
import re
import statistics
import time

BATCH_MS = 5.0


def fields(descriptor):
    """The numbers of a descriptor by their keys, as in docs/convolutions.md; the name, if any."""
    body, _, name = descriptor.strip().partition('n"')
    return {key: int(number) for key, number in re.findall(r"([a-z]+)(\d+)", body)}, name.rstrip('"')


def timed_ms(run):
    import torch

    torch.cuda.synchronize()
    begin = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1e3


def median_ms(run, repetitions):
    import torch

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):  # algorithms are chosen, workspaces allocated
            run()
    once = timed_ms(run)
    count = max(1, min(200, int(BATCH_MS / max(once, 1e-3))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            run()
    timed_ms(graph.replay)
    return statistics.median(timed_ms(graph.replay) / count for _ in range(repetitions))


def convolution(descriptor, repetitions):
    import torch

    f, name = fields(descriptor)
    mb, groups, ic, ih = f.get("mb", 1), f.get("g", 1), f["ic"], f["ih"]
    iw, oc, kh = f.get("iw", ih), f["oc"], f["kh"]
    kw, sh, ph = f.get("kw", kh), f.get("sh", 1), f.get("ph", 0)
    sw, pw = f.get("sw", sh), f.get("pw", ph)
    dh = f.get("dh", 0)
    dw = f.get("dw", dh)
    result = {}
    for layout, kind in (("nchw", torch.contiguous_format), ("nhwc", torch.channels_last)):
        x = torch.randn(mb, ic, ih, iw, device="cuda").to(memory_format=kind)
        w = torch.randn(oc, ic // groups, kh, kw, device="cuda").to(memory_format=kind)
        b = torch.randn(oc, device="cuda")

        def run(x=x, w=w, b=b):
            torch.nn.functional.conv2d(x, w, b, (sh, sw), (ph, pw), (dh + 1, dw + 1), groups)

        result["cudnn_" + layout] = median_ms(run, repetitions)
    return name or descriptor, result


def product(operator, descriptor, repetitions):
    import torch

    f, name = fields(descriptor)
    a = torch.randn(f["m"], f["k"], device="cuda")
    b = torch.randn(f["k"], f.get("n", 1), device="cuda") if operator == "gemm" else torch.randn(f["k"], device="cuda")
    return name or descriptor, {"cublas": median_ms(lambda: a @ b, repetitions)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", nargs="+")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.set_grad_enabled(False)
    rows = []
    for path in options.shapes:
        with open(path, encoding="utf-8") as file:
            for line in file:
                line = line.split("#")[0].strip()
                if not line:
                    continue
                operator, _, rest = line.partition(" ")
                if operator in ("gemm", "gemv"):
                    name, times = product(operator, rest, options.repetitions)
                else:
                    name, times = convolution(line, options.repetitions)
                rows.append({"name": name, **times})
                if not options.json:
                    print(f"{name:24}", "  ".join(f"{k} {v:.4f}" for k, v in times.items()), flush=True)
    if options.json:
        print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                          "cudnn": torch.backends.cudnn.version(), "results": rows}))


if __name__ == "__main__":
    main()
