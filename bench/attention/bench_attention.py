#!/usr/bin/env python3
"""Measures wm::attention beside PyTorch's cuDNN backend, in one process, on one stream, on random data.

    warpmill bench attention [--shapes table,untuned,kinds,varlen] [--dtype f16|e4m3] [--only TEXT] [--plan "128x176 s2 o1" ...] [--rounds N]
        [--json FILE] [--markdown FILE] [--times]
    warpmill bench attention --forms [--only TEXT] [--rounds N] [--json FILE] [--markdown FILE]

Each side is a CUDA graph of several calls over rotated buffers; graphs are replayed in turns (A B A B), and the ratio is
the median over neighbouring replays. FlashAttention-3's figure is derived: the day's cuDNN times the ratio of the two
as recorded once, on one day. In e4m3 the output is bf16, and cuDNN stays in bf16: it is there for FlashAttention-3's
column of e4m3, and its numbers are those that ours are rounded from. --forms measures other forms of attention beside
our own plain kernel.
"""
import argparse
import concurrent.futures
import json
import math
import statistics
import sys
import tempfile

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention as sdpa
except ImportError:
    sys.exit("warpmill: the measurement beside cuDNN needs PyTorch with CUDA: pip install torch")

import attention_forms
from attention_calls import DTYPES, Eager, Ours, contest, graph_of, write_files

# (batch, heads, kv heads, queries, keys, head dim, value dim, causal): 16k tokens in all, 2048 / head dim heads; and
# FlashAttention-3 over cuDNN in bf16, forward, as recorded once: in bf16 and in e4m3.
TABLE = [
    ((8, 32, 32, 2048, 2048, 64, 64, False), 438 / 420, 402 / 420),
    ((2, 32, 32, 8192, 8192, 64, 64, False), 519 / 471, 572 / 471),
    ((1, 32, 32, 16384, 16384, 64, 64, False), 545 / 464, 591 / 464),
    ((1, 32, 32, 16384, 16384, 64, 64, True), 538 / 452, 550 / 452),
    ((32, 16, 16, 512, 512, 128, 128, False), 337 / 387, 298 / 387),
    ((16, 16, 16, 1024, 1024, 128, 128, False), 476 / 518, 518 / 518),
    ((8, 16, 16, 2048, 2048, 128, 128, False), 502 / 560, 663 / 560),
    ((8, 16, 16, 2048, 2048, 128, 128, True), 439 / 426, 483 / 426),
    ((4, 16, 16, 4096, 4096, 128, 128, False), 624 / 653, 669 / 653),
    ((4, 16, 16, 4096, 4096, 128, 128, True), 467 / 544, 536 / 544),
    ((2, 16, 16, 8192, 8192, 128, 128, False), 639 / 663, 796 / 663),
    ((2, 16, 16, 8192, 8192, 128, 128, True), 610 / 558, 702 / 558),
    ((1, 16, 16, 16384, 16384, 128, 128, False), 644 / 673, 772 / 673),
    ((1, 16, 16, 16384, 16384, 128, 128, True), 610 / 603, 749 / 603),
    ((4, 8, 8, 4096, 4096, 256, 256, False), 704 / 700, 1039 / 700),
    ((1, 8, 8, 16384, 16384, 256, 256, False), 722 / 737, 1078 / 737),
    ((1, 8, 8, 16384, 16384, 256, 256, True), 653 / 640, 1021 / 640),
]
UNTUNED = [((5, 24, 24, 1500, 1500, 128, 128, False), None), ((3, 13, 13, 6000, 6000, 128, 128, True), None),
           ((4, 40, 5, 3000, 3000, 128, 128, True), None), ((6, 20, 20, 2500, 2500, 64, 64, False), None),
           ((2, 9, 9, 5000, 5000, 256, 256, True), None)]
# Other kinds that cuDNN takes from PyTorch: two head dims, unequal lengths, grouped heads.
KINDS = [((2, 16, 16, 4096, 4096, 192, 128, False), None), ((2, 16, 16, 4096, 4096, 192, 128, True), None),
         ((4, 16, 16, 1000, 5000, 128, 128, False), None), ((4, 32, 4, 700, 3333, 64, 64, False), None),
         ((4, 16, 1, 2048, 2048, 128, 128, True), None), ((2, 8, 8, 4001, 1999, 256, 256, False), None)]
VARLEN = [[4096, 2048, 1024, 512, 512, 4096, 2048, 2048], [8192] + [512] * 16, [1024] * 16, [300, 5000, 77, 4100, 2900, 3700]]


def name_of(shape):
    b, h, hk, sq, sk, d, dv, causal = shape
    heads = f"{h}" if h == hk else f"{h}/{hk}"
    dims = f"{d}" if d == dv else f"{d}/{dv}"
    return f"{b} x {heads} x {sq}{'' if sq == sk else f'/{sk}'} x {dims}{' causal' if causal else ''}"


def flops_of(shape):
    b, h, hk, sq, sk, d, dv, causal = shape
    return 2.0 * b * h * sq * sk * (d + dv) * (0.5 if causal else 1)


def reference_error(q, k, v, out, causal, rows=4):
    """Root mean square difference from float64 over some rows of some heads."""
    worst, count = 0.0, 0
    ratio = q.shape[1] // k.shape[1]
    for b, h in {(0, 0), (q.shape[0] - 1, q.shape[1] - 1)}:
        for i in {0, q.shape[2] // 2, q.shape[2] - 1, min(100, q.shape[2] - 1)}:
            see = min(k.shape[2], i + 1 + k.shape[2] - q.shape[2]) if causal else k.shape[2]
            scores = (k[b, h // ratio, :see].double() @ q[b, h, i].double()) / math.sqrt(q.shape[3])
            want = torch.softmax(scores, 0) @ v[b, h // ratio, :see].double()
            worst += float((want - out[b, h, i].double()).square().mean())
            count += 1
    return math.sqrt(worst / count)


class Dense:
    """Sequences of one length."""

    def __init__(self, shape, sets, dtype):
        b, h, hk, sq, sk, d, dv, causal = shape
        narrow = dtype == DTYPES["e4m3"]
        wide = torch.bfloat16 if narrow else dtype
        make = lambda heads, positions, dim: torch.randn(b, heads, positions, dim, device="cuda", dtype=wide)
        self.causal, self.grouped = causal, h != hk
        self.operands = [(make(h, sq, d), make(hk, sk, d), make(hk, sk, dv)) for _ in range(sets)]
        self.own = [tuple(x.to(dtype) for x in operands) for operands in self.operands] if narrow else self.operands
        self.out = torch.empty(b, h, sq, dv, device="cuda", dtype=wide)

    def described(self, ours, plan):
        return [ours.describe(*operands, self.out, self.causal, plan) for operands in self.own]

    def peer(self, i):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return sdpa(*self.operands[i], is_causal=self.causal, enable_gqa=self.grouped)

    def peer_graph(self, calls):
        return graph_of([lambda i=i: self.peer(i % len(self.operands)) for i in range(calls)])

    def error(self, out):
        return reference_error(*self.own[0], out, self.causal)

    def peer_error(self, out):
        return reference_error(*self.operands[0], out, self.causal)


class Packed:
    """Sequences of several lengths, one behind the other: positions x heads x dim. cuDNN gets them as one nested tensor,
    or one by one, whichever is faster."""

    def __init__(self, lengths, heads, dim, causal, sets, dtype):
        make = lambda: torch.randn(sum(lengths), heads, dim, device="cuda", dtype=dtype)
        self.causal, self.lengths = causal, lengths
        self.operands = [(make(), make(), make()) for _ in range(sets)]
        self.out = torch.empty(sum(lengths), heads, dim, device="cuda", dtype=dtype)
        self.offsets = torch.tensor([0] + lengths, device="cuda").cumsum(0).to(torch.int32)
        nested = lambda x: torch.nested.nested_tensor_from_jagged(
            x, self.offsets.long(), min_seqlen=min(lengths), max_seqlen=max(lengths)).transpose(1, 2)
        self.nested = [tuple(nested(x) for x in operands) for operands in self.operands]

    def described(self, ours, plan):
        return [ours.describe(*operands, self.out, self.causal, plan, offsets=self.offsets, lengths=self.lengths)
                for operands in self.operands]

    def peer(self, i):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return sdpa(*self.nested[i], is_causal=self.causal).transpose(1, 2).values()

    def one_by_one(self, i):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            for q, k, v in zip(*(x.split(self.lengths) for x in self.operands[i])):
                sdpa(*(x.transpose(0, 1).unsqueeze(0) for x in (q, k, v)), is_causal=self.causal)

    def peer_graph(self, calls):
        together = Eager([lambda i=i: self.peer(i % len(self.operands)) for i in range(calls)])
        apart = graph_of([lambda i=i: self.one_by_one(i % len(self.operands)) for i in range(calls)])
        (a, _), (b, _) = contest([together, apart], 3)
        print(f"  cuDNN: {a / calls * 1e6:.1f} us as a nested tensor, {b / calls * 1e6:.1f} us one by one", file=sys.stderr)
        return together if a < b else apart

    def error(self, out):
        worst = 0.0
        for sequence in range(len(self.lengths)):
            part = lambda x: x.split(self.lengths)[sequence].transpose(0, 1).unsqueeze(0)
            worst = max(worst, reference_error(*(part(x) for x in self.operands[0]), part(out), self.causal))
        return worst

    peer_error = error


class Entry:
    """A row to be measured: `fa3` is FlashAttention-3 over cuDNN, as recorded once, or 0."""

    def __init__(self, name, flops, operand_bytes, make, kind, fa3=0.0):
        self.name, self.flops, self.operand_bytes, self.make, self.kind, self.fa3 = name, flops, operand_bytes, make, kind, fa3


def dense_entry(shape, fa3, dtype):
    b, h, hk, sq, sk, d, dv, causal = shape
    return Entry(name_of(shape), flops_of(shape), dtype.itemsize * b * (h * sq + hk * sk) * (d + dv),
                 lambda sets: Dense(shape, sets, dtype), (d, dv, causal, False), fa3)


def packed_entry(lengths, heads, dim, causal, dtype):
    flops = sum(4.0 * heads * n * n * dim * (0.5 if causal else 1) for n in lengths)
    name = f"{len(lengths)} lengths, {sum(lengths)} in all, longest {max(lengths)} x {heads} x {dim}{' causal' if causal else ''}"
    return Entry(name, flops, 8 * sum(lengths) * heads * dim, lambda sets: Packed(lengths, heads, dim, causal, sets, dtype),
                 (dim, dim, causal, True))


def entries_of(names, dtype):
    dense = lambda rows: [dense_entry(shape, fa3, dtype) for shape, fa3 in rows]
    table = [(shape, in_e4m3 if dtype == DTYPES["e4m3"] else in_bf16) for shape, in_bf16, in_e4m3 in TABLE]
    lists = {"table": dense(table), "untuned": dense(UNTUNED), "kinds": dense(KINDS),
             "varlen": [packed_entry(lengths, 16, 128, causal, dtype) for lengths in VARLEN for causal in (False, True)]}
    unknown = [name for name in names.split(",") if name not in lists]
    if unknown:
        sys.exit(f"warpmill: there are no shapes '{unknown[0]}'; there are {', '.join(lists)}")
    return [entry for name in names.split(",") for entry in lists[name]]


def compile_all(ours, entries, plans, dtype):
    """Every kernel that will be needed, several at a time, on problems of one tile."""
    def one(kind):
        d, dv, causal, packed, plan = kind
        library = ours.of_its_own_thread()
        small = Packed([256], 1, d, causal, 1, dtype) if packed else Dense((1, 1, 1, 256, 256, d, dv, causal), 1, dtype)
        try:
            library.run(small.described(library, plan)[0])
        except RuntimeError:
            pass  # the measurement says so
    kinds = {(*entry.kind, plan) for entry in entries for plan in plans}
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        list(pool.map(one, kinds))
    torch.cuda.synchronize()


def measure(ours, entry, plans, rounds):
    calls = max(2, min(20, int(2e-3 / (entry.flops / 600e12))))
    sets = max(2, min(calls, math.ceil(150e6 / entry.operand_bytes)))
    problem = entry.make(sets)
    try:
        peer_error = problem.peer_error(problem.peer(0))
    except torch.cuda.OutOfMemoryError:
        raise
    except RuntimeError as refusal:
        print(f"  {entry.name}: cuDNN refuses: {refusal}", file=sys.stderr)
        return []
    graphs, rows = [], []
    for plan in plans:
        described = problem.described(ours, plan)
        try:
            problem.out.fill_(float("nan"))
            words = ours.run(described[0])
            torch.cuda.synchronize()
            error = problem.error(problem.out)
            graphs.append(graph_of([lambda i=i: ours.run(described[i % sets]) for i in range(calls)]))
            rows.append({"shape": entry.name, "plan": words, "rms": error, "peer_rms": peer_error})
        except RuntimeError as refusal:
            print(f"  {plan}: {refusal}", file=sys.stderr)
    graphs.append(problem.peer_graph(calls))
    result = contest(graphs, rounds)
    peer_s = result[-1][0] / calls
    for row, (s, ratio) in zip(rows, result):
        row.update(us=s / calls * 1e6, tflops=entry.flops / (s / calls) * 1e-12, peer_us=peer_s * 1e6,
                   peer_tflops=entry.flops / peer_s * 1e-12, ratio=ratio, fa3=ratio / entry.fa3 if entry.fa3 else None)
    return rows


def mean(ratios):
    return math.exp(statistics.mean(math.log(r) for r in ratios))


def in_markdown(rows):
    lines = ["| batch x heads x length x dim | plan | us | TFLOP/s | cuDNN TFLOP/s | ratio to cuDNN | to FA3 (derived) | rms error | cuDNN's |",
             "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    for r in rows:
        derived = f"{r['fa3']:.3f}" if r["fa3"] else ""
        lines.append(f"| {r['shape']} | {r['plan']} | {r['us']:.1f} | {r['tflops']:.0f} | {r['peer_tflops']:.0f} | {r['ratio']:.3f} "
                     f"| {derived} | {r['rms']:.2e} | {r['peer_rms']:.2e} |")
    return "\n".join(lines) + "\n"


def summary(rows):
    better = [min(r["ratio"], r["fa3"] or r["ratio"]) for r in rows]
    return (f"geometric mean {mean([r['ratio'] for r in rows]):.3f} of cuDNN, {mean(better):.3f} of the better of cuDNN and derived "
            f"FlashAttention-3; lowest {min(r['ratio'] for r in rows):.3f} of cuDNN")


def times_of_roles(ours, entry, plan):
    """Mean nanoseconds of each thing that warps do, and how often, from the stamps of one launch."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        ours.trace(entry.make(1).described(ours, plan)[0], file.name)
        events = [e for e in json.load(open(file.name))["traceEvents"] if e["ph"] == "X"]
    spans = {}
    for e in events:
        spans.setdefault((e["cat"], e["name"]), []).append(e["dur"] * 1e3)
    return ", ".join(f"{role} {doing} {statistics.mean(of):.0f} ns x {len(of)}" for (role, doing), of in sorted(spans.items()))


def main():
    parser = argparse.ArgumentParser(prog="warpmill bench attention", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help=argparse.SUPPRESS)
    parser.add_argument("--shapes", default="table", help="table, untuned, kinds or varlen, or several with commas between")
    parser.add_argument("--forms", action="store_true", help="ALiBi, sinks, softcap, documents, padded head dims and packed heads")
    parser.add_argument("--dtype", default="bf16", choices=DTYPES)
    parser.add_argument("--plan", action="append", default=[], help="a plan by hand, as '128x176 s2 o1'; may be given several times")
    parser.add_argument("--only", default="", help="shapes whose name has one of these, with | between")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="write the rows here")
    parser.add_argument("--markdown", help="write the table here")
    parser.add_argument("--times", action="store_true", help="also what roles spend their time with, from stamps")
    options = parser.parse_args()
    torch.manual_seed(0)
    ours = Ours(options.library)
    if options.forms:
        return attention_forms.main(ours, options)
    plans = options.plan or [None]
    dtype = DTYPES[options.dtype]
    if options.dtype == "e4m3" and "varlen" in options.shapes:
        sys.exit("warpmill: sequences of several lengths are measured in bf16 and f16")
    entries = [e for e in entries_of(options.shapes, dtype) if any(part in e.name for part in options.only.split("|"))]
    if not entries:
        sys.exit(f"warpmill: no shape's name has '{options.only}'")
    compile_all(ours, entries, plans, dtype)
    every = []
    for entry in entries:
        for row in measure(ours, entry, plans, options.rounds):
            every.append(row)
            derived = f"{row['fa3']:6.3f}" if row["fa3"] else "     -"
            print(f"{row['shape']:34} {row['plan']:16} {row['us']:9.1f} us {row['tflops']:5.0f} TFLOP/s"
                  f"  cuDNN {row['peer_tflops']:5.0f}  ratio {row['ratio']:6.3f}  FA3 derived {derived}"
                  f"  rms {row['rms']:.2e} ({row['peer_rms']:.2e})", flush=True)
    if not every:
        sys.exit("warpmill: nothing was measured")
    print(summary(every))
    for entry in entries if options.times else []:
        for plan in plans:
            print(f"{entry.name} {plan or ''}: " + times_of_roles(ours, entry, plan))
    write_files(options, every, in_markdown(every))


if __name__ == "__main__":
    main()
