#!/usr/bin/env python3
"""Compares hcclrun with the MPIs that are installed, and with what the machine can do.

    scripts/compare.py [--build DIR] [--quick] [--ops ...] [--ranks ...] [--sizes ...]

Runs the programs of bench/compare in turns: in each round every library does the same operation
with the same ranks, one after the other, so that what else happens on the machine meets all of
them. A library's time of a cell (operation, ranks, size, mode) is the median over the rounds; a
peer has several settings, of which the one with the smallest median counts. Writes a table to the
standard output, and compare.csv, compare.json and compare.html (one page, nothing else needed).

Exit code: 0 no losing cell, 1 a cell loses or a result was wrong, 2 nothing could be compared. A
cell loses when best peer / hcclrun is below 0.9 in at least four of five rounds.
"""

import argparse
import csv
import datetime
import json
import math
import os
import platform
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare_html

OPS = ["barrier", "allgather", "allreduce", "reducescatter", "alltoall", "broadcast", "reduce",
       "scatter", "sendrecv"]
SIZES = ["8", "64", "1K", "16K", "256K", "1M", "4M", "16M", "64M"]
LOSING_RATIO = 0.9
LOSING_SHARE = 0.8  # of the rounds
OURS = "hcclrun"
LIMIT = "limit"


class Runner:
    """One library with one setting: how its program is started."""

    def __init__(self, library, setting, command, environment=None, ops=None, args=()):
        self.library = library
        self.setting = setting
        self.command = command  # of the number of ranks -> list
        self.environment = environment or {}
        self.ops = ops  # None: all
        self.args = list(args)


def processors():
    return len(os.sched_getaffinity(0))


def runners(build, ranks, quick, notes):
    """What to run for a number of ranks."""
    found = [Runner(OURS, "window", lambda n: [f"{build}/bin/hcclrun", "-n", str(n), "--no-label",
                                               f"{build}/bin/compare_hccl"])]
    crowded = ranks > processors()

    mpirun = shutil.which("mpirun.openmpi")
    program = f"{build}/bin/compare_openmpi"
    if mpirun and os.path.exists(program):
        def openmpi(mca, bind="none"):
            return lambda n: [mpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", bind,
                              "-n", str(n), "--mca", "pml", "ob1", "--mca", "btl", "vader,self",
                              *[word for pair in mca.items() for word in ("--mca", *pair)], program]

        cma = {"btl_vader_single_copy_mechanism": "cma", "mpi_yield_when_idle": "1"}
        found.append(Runner("openmpi", "cma", openmpi(cma)))
        if not crowded:
            bound = dict(cma, mpi_yield_when_idle="0")
            found.append(Runner("openmpi", "cma-bound", openmpi(bound, "core")))
        if not quick:
            none = dict(cma, btl_vader_single_copy_mechanism="none")
            found.append(Runner("openmpi", "copy", openmpi(none)))

            def tuned(op, algorithm):
                name = {"reducescatter": "reduce_scatter_block"}.get(op, op)
                mca = dict(cma, coll_tuned_use_dynamic_rules="1")
                mca[f"coll_tuned_{name}_algorithm"] = str(algorithm)
                found.append(Runner("openmpi", f"{op}-{algorithm}", openmpi(mca), ops=[op]))

            if crowded:
                tuned("reducescatter", 1)
                tuned("reducescatter", 3)
                tuned("allgather", 3)
                tuned("allgather", 4)
    else:
        notes.add("Open MPI is not installed or compare_openmpi is not built: left out")

    mpiexec = shutil.which("mpiexec.mpich")
    mpich = f"{build}/bin/compare_mpich"
    if mpiexec and os.path.exists(mpich):
        command = lambda n: [mpiexec, "-n", str(n), mpich]
        found.append(Runner("mpich", "default", command))
        if not crowded:
            found.append(Runner("mpich", "nolocal", command, {"MPIR_CVAR_NOLOCAL": "1"}))
    else:
        notes.add("MPICH is not installed or compare_mpich is not built: left out")

    found.append(Runner(LIMIT, "pieces", lambda n: [f"{build}/bin/compare_limit", "--ranks", str(n)]))
    return found


def run(runner, ranks, op, options, first, notes):
    """{(size, mode): us} of one program; what it printed before it failed or ran out of time."""
    command = shlex.split(options.prefix) + runner.command(ranks)
    command += ["--ops", op, "--sizes", ",".join(options.sizes), "--modes", ",".join(options.modes),
                "--budget-ms", str(options.budget_ms), "--limit-s", str(options.limit_s),
                "--memory", options.memory, *runner.args]
    if options.meeting and runner.library not in (OURS, LIMIT):
        command.append("--meeting")
    if first:
        command.append("--check")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, **runner.environment), start_new_session=True)
    wrong = None
    try:
        out, err = process.communicate(timeout=options.limit_s * 3 + 30)
        if process.returncode != 0:
            wrong = f"exit code {process.returncode}: {err.strip()[-300:]}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        wrong = "no end"
    if wrong:
        notes.add(f"{runner.library}/{runner.setting} {op} with {ranks} ranks: {wrong}")
        if runner.library == OURS:
            options.failed = True
    times = {}
    for line in out.splitlines():
        fields = line.split(",")
        if len(fields) == 4 and fields[0] == op:
            key = (int(fields[1]), fields[2])
            times[key] = min(times.get(key, math.inf), float(fields[3]))
        elif len(fields) == 4 and fields[0] == "yield_switch":
            options.yields.append(float(fields[3]))
    return times


def measure(options, notes):
    """samples[(ranks, op, size, mode)][(library, setting)] = [us or None, one a round]"""
    samples = {}
    slow = set()  # peers' programs that took more than the time limit: one round is enough
    for round_ in range(options.rounds):
        for ranks in options.ranks:
            for op in options.ops:
                for runner in runners(options.build, ranks, options.quick, notes):
                    name = (runner.library, runner.setting)
                    if runner.ops and op not in runner.ops or (ranks, op, name) in slow:
                        continue
                    if options.peers is not None and runner.library not in (*options.peers, OURS, LIMIT):
                        continue
                    if runner.library == LIMIT and op == "barrier":
                        continue
                    if sys.stderr.isatty():
                        print(f"\rround {round_ + 1}/{options.rounds} n={ranks} {op} "
                              f"{runner.library}/{runner.setting}\033[K", end="", file=sys.stderr)
                    begin = time.monotonic()
                    times = run(runner, ranks, op, options, round_ == 0, notes)
                    if runner.library not in (OURS, LIMIT) and time.monotonic() - begin > options.limit_s:
                        slow.add((ranks, op, name))
                    for key, us in times.items():
                        cell = samples.setdefault((ranks, op, *key), {})
                        cell.setdefault(name, [None] * options.rounds)[round_] = us
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return samples


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def bytes_of(size):
    shift = {"K": 10, "M": 20, "G": 30}.get(size[-1].upper(), 0)
    return int(size[:-1] if shift else size) << shift


def left_out(options):
    """The cells that --memory excludes, as the programs decide it (Options::Cells)."""
    cells = []
    for op in options.ops:
        for n in options.ranks:
            inputs = {"reducescatter": n, "scatter": n, "alltoall": n}.get(op, 1)
            outputs = {"allgather": n, "alltoall": n}.get(op, 1)
            for mode in options.modes:
                many = 20 if mode == "batch" else 1
                sizes = [s for s in options.sizes if op != "barrier" and
                         (inputs + outputs * many) * n * bytes_of(s) > bytes_of(options.memory)]
                if sizes:
                    cells.append(f"{op} n={n} {mode} {','.join(sizes)}")
    return cells


def judge(samples, rounds):
    """One record a cell."""
    cells = []
    for (ranks, op, size, mode), cell in samples.items():
        ours = cell.get((OURS, "window"))
        if not ours or median(ours) is None:
            continue
        times = [t for t in ours if t is not None]
        record = {"op": op, "ranks": ranks, "bytes": size, "mode": mode, "us": median(ours),
                  "us_min": min(times), "us_max": max(times), "rounds": ours, "peers": {}}
        best = None
        for (library, setting), values in cell.items():
            us = median(values)
            if library in (OURS, LIMIT) or us is None:
                continue
            record["peers"][f"{library}/{setting}"] = us
            # A setting that a time limit cut short in most rounds is no basis for a verdict.
            if best is None or us < best[0]:
                best = (us, f"{library}/{setting}", values)
        if best:
            pairs = [(p, o) for p, o in zip(best[2], ours) if p is not None and o is not None]
            ratios = [p / o for p, o in pairs]
            low = sum(r < LOSING_RATIO for r in ratios)
            record.update(peer=best[1], peer_us=best[0], ratio=best[0] / record["us"], ratios=ratios,
                          loses=bool(ratios) and low >= math.ceil(LOSING_SHARE * len(ratios)))
        limit = median(cell.get((LIMIT, "pieces"), []))
        if limit is None and mode == "batch":
            limit = median(samples.get((ranks, op, size, "sync"), {}).get((LIMIT, "pieces"), []))
        if limit is not None and op != "barrier":
            record.update(limit_us=limit, of_limit=limit / record["us"])
        cells.append(record)
    return cells


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def summary(cells, options):
    lines = []
    for mode in options.modes:
        for ranks in options.ranks:
            chosen = [c for c in cells if c["mode"] == mode and c["ranks"] == ranks and "ratio" in c]
            if chosen:
                worst = min(chosen, key=lambda c: c["ratio"])
                lines.append({"mode": mode, "ranks": ranks, "cells": len(chosen),
                              "geometric_mean": geometric([c["ratio"] for c in chosen]),
                              "smallest": worst["ratio"],
                              "smallest_cell": f"{worst['op']} {size_name(worst['bytes'])}",
                              "losing": sum(c["loses"] for c in chosen)})
    return lines


def size_name(size):
    for shift, unit in ((20, "M"), (10, "K")):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def number(value, digits=3):
    if value is None:
        return "-"
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(value)))}f}" if value > 0 else "0"


def print_table(cells, lines, yield_us):
    print(f"{'op':14} {'n':>3} {'size':>5} {'mode':>5} {'hcclrun us':>11} {'min..max':>19} "
          f"{'peer us':>9} {'peer/ours':>9} {'of limit':>8}  peer")
    for c in cells:
        spread = f"{number(c['us_min'])}..{number(c['us_max'])}"
        of_limit = f"{100 * c['of_limit']:.0f} %" if "of_limit" in c else "-"
        print(f"{c['op']:14} {c['ranks']:3} {size_name(c['bytes']):>5} {c['mode']:>5} "
              f"{number(c['us']):>11} {spread:>19} {number(c.get('peer_us')):>9} "
              f"{number(c.get('ratio')):>9} {of_limit:>8}  {c.get('peer', '')}"
              f"{'  LOSES' if c.get('loses') else ''}")
    print()
    for s in lines:
        print(f"{s['mode']:5} n={s['ranks']}: geometric mean of peer/ours {s['geometric_mean']:.2f} over "
              f"{s['cells']} cells, smallest {s['smallest']:.2f} ({s['smallest_cell']}), "
              f"{s['losing']} losing")
    if yield_us:
        print(f"sched_yield from one process to another on one processor: {yield_us:.2f} us")


def text_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        lines = (done.stdout or done.stderr).strip().splitlines()
        return lines[0] if lines else ""
    except (OSError, subprocess.TimeoutExpired):
        return ""


def machine(options):
    model = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            model = next((l.split(":", 1)[1].strip() for l in f if l.startswith("model name")), "")
    except OSError:
        pass
    return {"when": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "processor": model, "processors": processors(), "kernel": platform.release(),
            "load": [round(x, 2) for x in os.getloadavg()],
            "openmpi": text_of("mpirun.openmpi", "--version"),
            "mpich": text_of("mpichversion"), "engine": os.environ.get("HCCLRUN_ENGINE", "auto"),
            "rounds": options.rounds, "meeting": options.meeting, "budget_ms": options.budget_ms, "prefix": options.prefix}


def write_csv(path, cells):
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f)
        out.writerow(["op", "ranks", "bytes", "mode", "hcclrun_us", "hcclrun_min_us", "hcclrun_max_us",
                      "peer", "peer_us", "ratio", "loses", "limit_us", "of_limit"])
        for c in cells:
            out.writerow([c["op"], c["ranks"], c["bytes"], c["mode"]] + [
                f"{c[key]:.4f}" if isinstance(c.get(key), float) else c.get(key, "")
                for key in ("us", "us_min", "us_max", "peer", "peer_us", "ratio", "loses", "limit_us",
                            "of_limit")])


def parse():
    def words(text):
        return text.split(",")

    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=f"{root}/build/release", help="build directory (default %(default)s)")
    p.add_argument("--out", help="directory for the results (default BUILD/compare)")
    p.add_argument("--ops", type=words, default=OPS, help=",".join(OPS))
    p.add_argument("--ranks", type=words, default=["2", "4", "8"], help="default 2,4,8")
    p.add_argument("--sizes", type=words, default=None, help="bytes per rank, default " + ",".join(SIZES))
    p.add_argument("--modes", type=words, default=["sync", "batch"],
                   help="sync,batch (batch: 20 outstanding operations)")
    p.add_argument("--rounds", type=int, default=None, help="default 5")
    p.add_argument("--peers", type=words, default=None, help="openmpi,mpich")
    p.add_argument("--budget-ms", type=float, default=None, help="timed part of a cell, default 30")
    p.add_argument("--limit-s", type=float, default=20, help="time limit of one program, default 20")
    p.add_argument("--memory", default="2G", help="bound on all ranks' buffers; larger cells are left out")
    p.add_argument("--prefix", default="", help="put before every command, e.g. 'chrt -r 1' (root) on a "
                   "machine that is busy with something else")
    p.add_argument("--meeting", action="store_true",
                   help="peers' sends and operations with a root wait for those who receive, as hcclrun's do")
    p.add_argument("--quick", action="store_true",
                   help="under a minute: four operations, three sizes, n=2,4, three rounds, one peer setting")
    options = p.parse_args()
    given = {a.split("=")[0] for a in sys.argv[1:]}
    if options.quick:
        if "--ops" not in given:
            options.ops = ["allgather", "allreduce", "alltoall", "sendrecv"]
        if "--ranks" not in given:
            options.ranks = ["2", "4"]
        options.sizes = options.sizes or ["8", "16K", "1M"]
        options.rounds = options.rounds or 3
        options.budget_ms = options.budget_ms or 10
        options.limit_s = min(options.limit_s, 3)
    options.sizes = options.sizes or SIZES
    options.rounds = options.rounds or 5
    options.budget_ms = options.budget_ms or 30
    options.ranks = [int(r) for r in options.ranks]
    if bad := [op for op in options.ops if op not in OPS]:
        p.error(f"unknown operation {bad[0]}; there are {','.join(OPS)}")
    options.out = options.out or f"{options.build}/compare"
    options.failed = False
    options.yields = []
    return options


def main():
    options = parse()
    if not os.path.exists(f"{options.build}/bin/compare_hccl"):
        print(f"{options.build}/bin/compare_hccl is missing: build with HCCLRUN_BENCH=ON, or say where "
              "with --build", file=sys.stderr)
        return 2
    notes = set()
    about = machine(options)
    samples = measure(options, notes)
    cells = judge(samples, options.rounds)
    order = {op: i for i, op in enumerate(OPS)}
    cells.sort(key=lambda c: (c["mode"] != "sync", order[c["op"]], c["ranks"], c["bytes"]))
    if options.meeting:
        notes.add("peers' sends and operations with a root wait for those who receive (--meeting)")
    if missing := left_out(options):
        notes.add(f"not measured, above --memory {options.memory}: {'; '.join(missing)}")
    lines = summary(cells, options)
    about["yield_switch_us"] = median(options.yields)
    print_table(cells, lines, about["yield_switch_us"])
    for note in sorted(notes):
        print(f"note: {note}")

    os.makedirs(options.out, exist_ok=True)
    write_csv(f"{options.out}/compare.csv", cells)
    with open(f"{options.out}/compare.json", "w", encoding="utf-8") as f:
        json.dump({"machine": about, "summary": lines, "notes": sorted(notes), "cells": cells}, f, indent=1)
    with open(f"{options.out}/compare.html", "w", encoding="utf-8") as f:
        f.write(compare_html.page(about, lines, sorted(notes), cells))
    print(f"results: {options.out}/compare.csv, .json, .html")
    if options.failed or any(c.get("loses") for c in cells):
        return 1
    if not any("ratio" in c for c in cells):
        print("nothing was compared: no peer is installed")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
