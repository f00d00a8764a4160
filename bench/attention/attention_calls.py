"""Calls of wm::attention on torch's tensors through the shim, and the timing of graphs of calls in turns."""
import ctypes
import json
import statistics

import torch


DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "e4m3": torch.float8_e4m3fn}  # in the shim's order


class BenchAttention(ctypes.Structure):
    _fields_ = (
        [(name, ctypes.c_uint64) for name in ("q", "k", "v", "out", "lse")]
        + [(name, ctypes.c_int64) for name in ("batch", "heads", "kv_heads", "queries", "keys", "head_dim", "value_dim")]
        + [(name, ctypes.c_int64 * 3) for name in ("q_strides", "k_strides", "v_strides", "out_strides")]
        + [(name, ctypes.c_uint64) for name in ("query_offsets", "key_offsets")]
        + [(name, ctypes.c_int64) for name in ("sequences", "total_queries", "total_keys")]
        + [(name, ctypes.c_uint64) for name in ("alibi_slopes", "sinks", "documents", "key_lengths")]
        + [(name, ctypes.c_int32) for name in ("dtype", "left", "right", "align_ends")]
        + [("softcap", ctypes.c_float)]
        + [("plan", ctypes.c_char * 48)])


class Ours:
    def __init__(self, path):
        self.library = ctypes.CDLL(path) if isinstance(path, str) else path
        self.words = ctypes.create_string_buffer(2000)

    def of_its_own_thread(self):
        return Ours(self.library)

    def describe(self, q, k, v, out, causal, plan=None, lse=None, offsets=None, lengths=None, softcap=0.0, **arrays):
        """`arrays`: alibi_slopes, sinks, documents (the number of each position's, rising) and key_lengths."""
        a = BenchAttention()
        a.softcap = softcap
        for name, array in arrays.items():
            setattr(a, name, array.data_ptr())
        a.q, a.k, a.v, a.out = q.data_ptr(), k.data_ptr(), v.data_ptr(), out.data_ptr()
        a.lse = lse.data_ptr() if lse is not None else 0
        if offsets is None:
            a.batch, a.heads, a.queries, a.head_dim = q.shape
            a.kv_heads, a.keys, a.value_dim = v.shape[1:]
            for name, x in (("q", q), ("k", k), ("v", v), ("out", out)):
                setattr(a, name + "_strides", (ctypes.c_int64 * 3)(*x.stride()[:3]))
        else:  # q: positions x heads x dim
            a.heads, a.head_dim, a.kv_heads, a.value_dim = q.shape[1], q.shape[2], k.shape[1], v.shape[2]
            a.batch, a.sequences, a.total_queries, a.total_keys = 1, len(lengths), q.shape[0], k.shape[0]
            a.queries = a.keys = max(lengths)
            a.query_offsets = a.key_offsets = offsets.data_ptr()
            for name, x in (("q", q), ("k", k), ("v", v), ("out", out)):
                setattr(a, name + "_strides", (ctypes.c_int64 * 3)(0, x.stride(1), x.stride(0)))
        a.dtype = list(DTYPES.values()).index(q.dtype)
        a.left, a.right, a.align_ends = -1, 0 if causal else -1, 1
        if plan:
            a.plan = plan.encode()
        return a

    def run(self, a):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if self.library.bench_attention(stream, ctypes.byref(a), self.words, ctypes.c_size_t(len(self.words))):
            raise RuntimeError(self.words.value.decode())
        return self.words.value.decode()

    def trace(self, a, file):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if self.library.bench_attention_trace(stream, ctypes.byref(a), file.encode(), self.words,
                                              ctypes.c_size_t(len(self.words))):
            raise RuntimeError(self.words.value.decode())


def graph_of(calls):
    """A graph of the calls, each made once before."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for call in calls:
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    return graph


class Eager:
    """Calls that cannot be captured, made one after the other."""

    def __init__(self, calls):
        self.calls = calls

    def replay(self):
        for call in self.calls:
            call()


def seconds(graph):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e-3


def contest(sides, rounds):
    """Medians of each side's seconds, and of its ratio to the last side's next replay (above 1: faster)."""
    for graph in sides:
        graph.replay()
    times = [[] for _ in sides]
    for _ in range(rounds):
        for side, graph in zip(times, sides):
            side.append(seconds(graph))
    peer = times[-1]
    return [(statistics.median(side), statistics.median(p / s for s, p in zip(side, peer))) for side in times]


def write_files(options, rows, table):
    for file, text in ((options.json, json.dumps(rows, indent=1)), (options.markdown, table)):
        if file:
            with open(file, "w") as out:
                out.write(text)
