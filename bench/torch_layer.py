"""A Llama layer as plain PyTorch computes it on one rank, with that rank's sizes, and what
the device can do at most. Run by bench/gpu in a process of its own:

    torch_layer.py < LAYER.json     {"layer": sizes, "ranks": 8, "plan": ..., "modes": [...],
                                     "repeat": 50}; {"peaks": true} for the peaks

Prints a line of JSON. Collectives are left out as tp-run leaves them out: what they would
have given is an argument.
"""

import json
import statistics
import sys
import time

WARM = 10


def median_seconds(torch, function, repeat):
    """On the device, between two events around one call; and as the host sees it, which
    waits for each: medians after some calls that do not count."""
    times, walls = [], []
    for i in range(WARM + repeat):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start = time.perf_counter()
        begin.record()
        function()
        end.record()
        torch.cuda.synchronize()
        if i >= WARM:
            walls.append(time.perf_counter() - start)
            times.append(begin.elapsed_time(end) * 1e-3)
    return statistics.median(times), statistics.median(walls)


def peaks(torch, repeat, size=8192, copied=4 << 30):
    """Of a bf16 matrix product and of a copy within the device, on random data."""
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c = torch.empty_like(a)
    product, _ = median_seconds(torch, lambda: torch.mm(a, b, out=c), repeat)
    x = torch.empty(copied // 2, device="cuda", dtype=torch.uint8).random_()
    y = torch.empty_like(x)
    copy, _ = median_seconds(torch, lambda: y.copy_(x), repeat)
    return {"flops_per_second": 2 * size ** 3 / product, "bytes_per_second": copied / copy,
            "product": size, "copied": copied}


def make_layer(torch, layer, ranks, plan):
    """The function, and its arguments: weights, tables, hidden states, and what two
    collectives give to the blocks and two to the residuals."""
    from torch.nn import functional
    heads, kv_heads = layer["heads"] // ranks, max(layer["kv_heads"] // ranks, 1)
    head, ff, dim = layer["head_dim"], layer["ff"] // ranks, layer["dim"]
    batch, seq = layer["batch"], layer["seq"]
    own = seq // ranks if plan == "sequence-parallel" else seq
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32,
             "f64": torch.float64}[layer["element"]]

    def random(*shape):
        # As tp-run --random-data.
        return torch.rand(shape, device=device).sub_(0.5).to(dtype)

    weights = [random(heads * head, dim), random(kv_heads * head, dim),
               random(kv_heads * head, dim), random(dim, heads * head), random(ff, dim),
               random(dim, ff), random(ff, dim), random(dim), random(dim)]
    states = [random(seq, head), random(seq, head), random(batch, own, dim),
              random(batch, seq, dim), random(batch, own, dim), random(batch, seq, dim),
              random(batch, own, dim)]

    def norm(x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight

    def rotate(x, cosine, sine):
        a, b = x.chunk(2, dim=-1)
        return x * cosine + torch.cat((-b, a), dim=-1) * sine

    def step(wq, wk, wv, wo, w1, w2, w3, norm1, norm2, cosine, sine, x, taken1, summed1,
             taken2, summed2):
        normed1 = norm(x, norm1)
        # Without a split the blocks take what the norms give, else what was gathered.
        taken1 = taken1 if plan == "sequence-parallel" else normed1
        q, k, v = (functional.linear(taken1, w).view(batch, seq, -1, head).transpose(1, 2)
                   for w in (wq, wk, wv))
        y = functional.scaled_dot_product_attention(
            rotate(q, cosine, sine), rotate(k, cosine, sine), v, is_causal=True,
            enable_gqa=heads != kv_heads)
        part1 = functional.linear(y.transpose(1, 2).reshape(batch, seq, -1), wo)
        x = x + summed1
        normed2 = norm(x, norm2)
        taken2 = taken2 if plan == "sequence-parallel" else normed2
        part2 = functional.linear(
            functional.silu(functional.linear(taken2, w1)) * functional.linear(taken2, w3),
            w2)
        return normed1, part1, normed2, part2, x + summed2

    return step, weights + states


def graphed(torch, function, arguments):
    """A CUDA graph of the function, so that no launch is waited for."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            function(*arguments)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = function(*arguments)
    return graph, kept


def measure(torch, asked):
    import torch._dynamo
    step, arguments = make_layer(torch, asked["layer"], asked["ranks"], asked["plan"])
    found = {}
    with torch.no_grad():
        for mode in asked["modes"]:
            try:
                torch._dynamo.reset()
                compiled = torch.compile(step, mode=mode, dynamic=False)
                graph, kept = graphed(torch, compiled, arguments)
                seconds, wall = median_seconds(torch, graph.replay, asked["repeat"])
                found[mode] = {"seconds": seconds, "wall": wall}
                del graph, kept
            except (RuntimeError, OSError) as error:
                found[mode] = {"error": str(error).splitlines()[0]}
    return found


def main():
    asked = json.load(sys.stdin)
    try:
        import torch
    except ImportError:
        print(json.dumps({"error": "torch cannot be imported"}))
        return
    if not torch.cuda.is_available():
        print(json.dumps({"error": f"torch {torch.__version__} sees no device"}))
        return
    torch.manual_seed(0)
    answer = {"version": torch.__version__, "device": torch.cuda.get_device_name()}
    answer |= peaks(torch, asked["repeat"]) if asked.get("peaks") else {
        "modes": measure(torch, asked)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
