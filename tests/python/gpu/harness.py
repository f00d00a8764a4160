"""What the parts share: rows of the table, errors, times."""

import statistics
import time

import torch

wrong = False  # in this part


def row(what, outcome):
    print(f"ROW: {what} | {outcome}", flush=True)


def expect(holds, what, detail=""):
    global wrong
    wrong |= not holds
    row(what, f"{'ok' if holds else 'WRONG'} {detail}")


def error(result, expected):
    """Relative, over all elements."""
    result, expected = result.float(), expected.float()
    return ((result - expected).norm() / expected.norm().clamp_min(1e-30)).item()


def random(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def host_microseconds(call, times=2000, rounds=5):
    """What a call costs the host, each round's; the queue is emptied now and then, outside the time."""
    results = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for i in range(times):
            call()
            if i % 250 == 249:
                now = time.perf_counter()
                torch.cuda.synchronize()
                began += time.perf_counter() - now
        results.append((time.perf_counter() - began) / times * 1e6)
    return results


def microseconds(call, times=50):
    """From call to call with the device's work, the least of five."""
    for _ in range(5):
        call()
    least = []
    for _ in range(5):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(times):
            call()
        torch.cuda.synchronize()
        least.append((time.perf_counter() - began) / times * 1e6)
    return min(least)


def in_turns(ours, theirs, rounds=4):
    """Medians and leasts of what two calls cost the host, measured in turns."""
    for call in (ours, theirs):
        for _ in range(50):
            call()
    one, other = [], []
    for _ in range(rounds):
        one += host_microseconds(ours)
        other += host_microseconds(theirs)
    return (statistics.median(one), min(one)), (statistics.median(other), min(other))
