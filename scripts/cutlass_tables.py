"""Tables of what scripts/cutlass-examples has run, as pages of bench/results."""
import collections


def findings_of(row, severity):
    """The names of this severity, and how many of each."""
    return [(name.split(" ")[1], count) for name, count in row["findings"].items() if name.startswith(severity + " ")]


def dates_of(rows):
    dates = sorted({row["date"] for row in rows.values()})
    return dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"


def judged(rows, programs, left_out):
    """All rows that there are, what stands in them, and what is not on the list."""
    chips = []
    for chip in dict.fromkeys(program.architecture for program in programs):
        listed = [rows.get(program.name) for program in programs if program.architecture == chip]
        if any(listed):
            passed = sum(row is not None and not row["failure"] for row in listed)
            chips.append(f"{passed} of {len(listed)} for {chip}")
    totals = collections.Counter()
    for row in rows.values():
        totals.update(row["findings"])
    warned = sum(bool(findings_of(row, "warning")) for row in rows.values())
    blamed = sum(bool(findings_of(row, "error")) for row in rows.values())
    builds = {row["build"] for row in rows.values()}
    lines = [
        "# CUTLASS's example programs on the virtual GPU",
        "",
        f"`make test-cutlass`, {dates_of(rows)}, on two cores of a busy "
        f"virtual machine{'' if len(builds) == 1 else f', with {len(builds)} builds of Warpmill in succession'}. The sources "
        "are those of PyPI's `nvidia-cutlass` 4.2; [examples.toml](../../tests/cutlass/examples.toml) has each program's "
        "arguments, and the constants that were changed where the source fixes a large size.",
        "",
        f"**{', '.join(chips)} verify their own result and say that it is right**, unjudged (with the static and the shared "
        "runtime where two times stand) and again with their kernels under the judge, each launch once in the friendly, "
        f"the random and the adversarial mode. The judge finds errors in {blamed} of {len(rows)} programs and "
        f"gives warnings in {warned}: " +
        (", ".join(f"{count} {name}" for name, count in totals.items()) or "nothing") + ".",
        "",
        "Seconds are by the clock, those of the judged run for all three modes; instructions are millions of warp "
        "instructions of the judged kernels, each launch once. Reference and fill kernels are not judged.",
        "",
        "| program | chip | result | s | judged s | kernels | instructions | errors | warnings | advice |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for program in programs:
        row = rows.get(program.name)
        if row is None:
            lines.append(f"| {program.label()} | {program.architecture} | not run | | | | | | | |")
            continue
        found = [", ".join(f"{count} {name}" for name, count in findings_of(row, severity)) or "0"
                 for severity in ("error", "warning", "advice")]
        result = "FAILED" if row["failure"] else "passed, judged" if program.faults else "passed"
        if "repaired" in row:
            result += f"; repaired: {row['repaired']}"
        seconds = ", ".join(f"{value:.1f}" for value in row["runs"].values())
        judged = [f"{row['judged_seconds']:.1f}", row["kernels"], f"{row['instructions'] / 1e6:.2f}", *found] \
            if "judged_seconds" in row else [""] * 6
        lines.append("| " + " | ".join(map(str, (program.label(), program.architecture, result, seconds, *judged))) + " |")
    missing = [(program, rows[program.name]) for program in programs
               if program.name in rows and rows[program.name]["failure"]]
    if missing:
        lines += ["", "## What does not pass", ""]
        lines += [f"- **{program.label()}**: {program.missing or row['failure']}" for program, row in missing]
    confirmed = [program for program in programs if program.confirmed and program.name in rows]
    if confirmed:
        lines += ["", "## Errors that reading confirms", ""]
        lines += [f"- **{program.label()}**: {program.confirmed}" for program in confirmed]
    lines += ["", "## Not on the list", "", "| example | reason |", "|---|---|"]
    lines += [f"| {pattern} | {reason} |" for pattern, reason in left_out.items()]
    return "\n".join(lines) + "\n"


def by_default(rows, programs, _):
    """Those that nvcc has built as it does by default: what each says with both runtimes."""
    lines = [
        "# CUTLASS's example programs as nvcc builds them",
        "",
        f"`scripts/cutlass-examples build --defaults --table bench/results/cutlass-defaults.md`, "
        f"{dates_of(rows)}, on two cores of a busy virtual machine. Sources of PyPI's `nvidia-cutlass` 4.2, unmodified; "
        "`nvcc -arch=CHIP --expt-relaxed-constexpr`, which gives machine code and PTX in the same program, linked with "
        "the static runtime (nvcc's default) and with the shared one, each started by `warpmill run`.",
        "",
        f"**{sum(not row['failure'] for row in rows.values())} of {len(programs)} say that their result is right, with "
        "both runtimes.** Seconds are by the clock.",
        "",
        "| program | chip | arguments | what it says, and how often | static s | shared s | result |",
        "|---|---|---|---|---|---|---|",
    ]
    for program in programs:
        row = rows.get(program.name)
        seconds = [f"{row['runs'][runtime]:.1f}" for runtime in ("static", "shared")] if row else ["", ""]
        arguments = f"`{program.arguments}`" if program.arguments else "none"
        lines.append("| " + " | ".join((program.label(), program.architecture, arguments,
                                        f"`{program.success}`, {program.times}", *seconds,
                                        (row["failure"] or "passed") if row else "not run")) + " |")
    return "\n".join(lines) + "\n"
