"""What forms of attention cost beside our own plain kernel, in one process, in turns: ALiBi, sinks, softcap and documents
by keys visited (several documents also beside a plain kernel that gets them as sequences, whose tiles are as short),
head dims beside the size they are padded to, query heads packed into a tile beside unpacked ones."""
import concurrent.futures
import re

import torch

from attention_calls import contest, graph_of, write_files

SEQUENCES = [(2, 32, 4096, 64), (1, 16, 8192, 128), (1, 8, 8192, 256)]
PADDED = [(40, 64), (48, 64), (72, 128), (80, 128), (96, 128), (112, 128), (160, 192), (184, 192), (208, 256), (248, 256)]
FEW = [(16, 32, 8, 4096), (32, 32, 8, 2048), (8, 64, 8, 4096)]
UNPACKED = ("64x176 s2 o2", "64x128 s2 o2")


class Problem:
    def __init__(self, batch, heads, kv_heads, queries, keys, dim, causal, **form):
        make = lambda of_heads, length: torch.randn(batch, of_heads, length, dim, device="cuda", dtype=torch.bfloat16)
        self.sets = [(make(heads, queries), make(kv_heads, keys), make(kv_heads, keys)) for _ in range(2)]
        self.out = torch.empty(batch, heads, queries, dim, device="cuda", dtype=torch.bfloat16)
        self.causal, self.form = causal, form

    def graph(self, ours, calls, plan=None):
        described = [ours.describe(*operands, self.out, self.causal, plan, **self.form) for operands in self.sets]
        return ours.run(described[0]), graph_of([lambda i=i: ours.run(described[i % 2]) for i in range(calls)])


class Sequences(Problem):
    """The documents of a mask, one behind the other, as sequences."""

    def __init__(self, batch, heads, lengths, dim, causal):
        lengths = lengths * batch
        make = lambda: torch.randn(sum(lengths), heads, dim, device="cuda", dtype=torch.bfloat16)
        self.sets, self.out = [(make(), make(), make()) for _ in range(2)], make()
        offsets = torch.tensor([0] + lengths, device="cuda").cumsum(0).to(torch.int32)
        self.causal, self.form = causal, {"offsets": offsets, "lengths": lengths}


def document_numbers(count, length):
    begins = torch.randint(0, length, (count,), device="cuda")
    numbers = torch.zeros(length, device="cuda", dtype=torch.int32)
    numbers.index_add_(0, begins, torch.ones_like(begins, dtype=torch.int32))
    return numbers.cumsum(0).to(torch.int32)


def keys_visited(plan, length, causal, documents=None):
    rows, step = map(int, re.match(r"(\d+)x(\d+)", plan).groups())
    numbers = documents.tolist() if documents is not None else [0] * length
    total = 0
    for first in range(0, length, rows):
        last = min(first + rows, length) - 1
        for k in range(0, last + 1 if causal else length, step):
            k_last = min(k + step, length) - 1
            total += step * (numbers[k_last] >= numbers[first] and numbers[k] <= numbers[last])
    return total * rows


def document_lengths(numbers):
    return torch.unique_consecutive(numbers, return_counts=True)[1].tolist()


def forms_of(heads, length):
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)], device="cuda")
    sinks = torch.randn(heads, device="cuda")
    return {"ALiBi": {"alibi_slopes": slopes}, "sinks": {"sinks": sinks}, "softcap": {"softcap": 30.0},
            "ALiBi and sinks": {"alibi_slopes": slopes, "sinks": sinks},
            **{f"{n} documents": {"documents": document_numbers(n - 1, length)} for n in (1, 4, 16)}}


def contests():
    """(name, the form's problem and plans, the plain one's problem and plans, the factor for keys visited, the bound)."""
    for batch, heads, length, dim in SEQUENCES:
        for causal in (False, True):
            for name, form in forms_of(heads, length).items():
                visited = lambda a, b, c=causal, n=length, d=form.get("documents"): keys_visited(a, n, c, d) / keys_visited(b, n, c)
                yield (f"{name}, {batch} x {heads} x {length} x {dim}{' causal' if causal else ''}",
                       lambda b=batch, h=heads, n=length, d=dim, c=causal, f=form: Problem(b, h, h, n, n, d, c, **f), [None],
                       lambda b=batch, h=heads, n=length, d=dim, c=causal: Problem(b, h, h, n, n, d, c), [None], visited, "at most 1.10")
                documents = form.get("documents")
                if documents is None or len(lengths := document_lengths(documents)) == 1:
                    continue
                in_all = lambda a, b, c=causal, n=length, d=documents, l=lengths: (
                    keys_visited(a, n, c, d) / sum(keys_visited(b, each, c) for each in l))
                yield (f"{name} beside sequences, {batch} x {heads} x {length} x {dim}{' causal' if causal else ''}",
                       lambda b=batch, h=heads, n=length, d=dim, c=causal, f=form: Problem(b, h, h, n, n, d, c, **f), [None],
                       lambda b=batch, h=heads, l=lengths, d=dim, c=causal: Sequences(b, h, l, d, c), [None], in_all, "at most 1.10")
    for dim, padded in PADDED:
        for causal in (False, True):
            of = lambda d, c=causal: Problem(2, 16, 16, 4096, 4096, d, c)
            yield (f"head dim {dim} beside {padded}{' causal' if causal else ''}", lambda d=dim, f=of: f(d), [None],
                   lambda d=padded, f=of: f(d), [None], lambda a, b: 1.0, "at most 1.05")
    for batch, heads, kv_heads, keys in FEW:
        for queries in (1, 2, 4, 8, 16):
            of = lambda b=batch, h=heads, g=kv_heads, q=queries, k=keys: Problem(b, h, g, q, k, 128, True)
            yield (f"packed, {batch} x {heads}/{kv_heads} x {queries}/{keys} x 128", of, [None], of, UNPACKED, lambda a, b: 1.0,
                   "at most 0.77")


def compile_all(ours, rows):
    def one(row):
        mine = ours.of_its_own_thread()
        for problem, plans in ((row[1](), row[2]), (row[3](), row[4])):
            for plan in plans:
                mine.run(mine.describe(*problem.sets[0], problem.out, problem.causal, plan, **problem.form))
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        list(pool.map(one, rows))
    torch.cuda.synchronize()


def measure(ours, row, rounds):
    name, make_form, form_plans, make_plain, plain_plans, visited, bound = row
    calls = 6
    form_problem, plain_problem = make_form(), make_plain()  # graphs know addresses only: the tensors must live as long
    sides = [form_problem.graph(ours, calls, plan) for plan in form_plans]
    sides += [plain_problem.graph(ours, calls, plan) for plan in plain_plans]
    times = contest([graph for _, graph in sides], rounds)
    form, plain = times[0][0], min(seconds for seconds, _ in times[len(form_plans):])
    plain_plan = sides[len(form_plans) + [s for s, _ in times[len(form_plans):]].index(plain)][0]
    return {"form": name, "plan": sides[0][0], "us": form / calls * 1e6, "plain_plan": plain_plan, "plain_us": plain / calls * 1e6,
            "ratio": form / plain / visited(sides[0][0], plain_plan), "asked": bound}


def in_markdown(rows):
    lines = ["| form | plan | us | plain plan | plain us | time beside it, by keys visited | asked |", "|---|---|---:|---|---:|---:|---|"]
    lines += [f"| {r['form']} | {r['plan']} | {r['us']:.1f} | {r['plain_plan']} | {r['plain_us']:.1f} | {r['ratio']:.3f} | {r['asked']} |"
              for r in rows]
    return "\n".join(lines) + "\n"


def main(ours, options):
    chosen = [row for row in contests() if any(part in row[0] for part in options.only.split("|"))]
    compile_all(ours, chosen)
    rows = []
    for row in chosen:
        rows.append(measure(ours, row, options.rounds))
        r = rows[-1]
        print(f"{r['form']:44} {r['us']:9.1f} us ({r['plan']}), plain {r['plain_us']:9.1f} us ({r['plain_plan']}): "
              f"{r['ratio']:.3f} ({r['asked']})", flush=True)
    write_files(options, rows, in_markdown(rows))
