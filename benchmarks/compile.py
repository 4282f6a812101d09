"""What a first run compiles, and what that costs:
a table of functions, of kernels, and of the parts of the compiler.

    python benchmarks/compile.py [SCENARIO] [--set KEY=VALUE ...] [--top 40] [--csv FILE]

Everything is compiled in this process, into an empty cache, as the warm-up of a run does it; seconds are
those of the processor, so that a busy machine changes little. Own seconds leave out what a function calls; a
kernel is what Python calls, and its seconds are all that was compiled for it first.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

PARTS = ("types", "lower", "parse", "passes", "link", "optimise", "emit", "keep", "load")


class Ledger:
    """What is charged for the processor's time:
    the innermost function that is compiled, and the innermost part of the compiler.
    """

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.parts: list[str] = []
        self.cost: dict[tuple[str, str], float] = defaultdict(float)
        self.count: dict[str, int] = defaultdict(int)
        self.kernel: dict[str, float] = defaultdict(float)
        self._last = time.process_time()

    def settle(self) -> None:
        now = time.process_time()
        if self.functions:
            self.cost[self.functions[-1], self.parts[-1]] += now - self._last
            self.kernel[self.functions[0]] += now - self._last
        self._last = now

    def begin(self, function: str, part: str) -> None:
        self.settle()
        self.functions.append(function)
        self.parts.append(part)
        self.count[function] += part == "types"

    def end(self) -> None:
        self.settle()
        self.functions.pop()
        self.parts.pop()

    def charged(self, function, part: str, *, names: bool):
        """Return a function whose time is charged as a part of the compiler's;
        if it `names` a function, to that one.
        """

        def call(*args, **kwargs):
            if not names and not self.functions:
                return function(*args, **kwargs)
            self.begin(name_of(args[0]) if names else self.functions[-1], part)
            try:
                return function(*args, **kwargs)
            finally:
                self.end()

        return call


def name_of(owner) -> str:
    """Return the name of the function that a dispatcher, its compiler or its cache is of."""
    function = getattr(owner, "py_func", None) or owner._function
    return f"{function.__module__.removeprefix('crowdsim.')}.{function.__qualname__}"


def watch(ledger: Ledger) -> None:
    """Have the compiler's work written down."""
    from numba.core import codegen, dispatcher, typed_passes

    from crowdsim.kernels import compiling
    from crowdsim.kernels import decorator as kernels

    def charge(owner, name: str, part: str, *, names: bool = False) -> None:
        setattr(owner, name, ledger.charged(getattr(owner, name), part, names=names))

    charge(dispatcher._FunctionCompiler, "compile", "types", names=True)
    charge(compiling.KernelDispatcher, "_whole", "link", names=True)
    charge(kernels.KernelStore, "load", "load", names=True)
    charge(kernels.KernelStore, "save", "keep", names=True)
    charge(compiling.KernelDispatcher, "_loaded", "load", names=True)
    charge(typed_passes.BaseNativeLowering, "run_pass", "lower")
    charge(codegen.CPUCodeLibrary, "add_ir_module", "parse")
    charge(codegen.CPUCodeLibrary, "_optimize_functions", "passes")
    charge(compiling._Library, "_optimize_functions", "passes")
    charge(codegen.CPUCodeLibrary, "_optimize_final_module", "optimise")
    charge(codegen.CPUCodeLibrary, "_finalize_final_module", "emit")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "scenario",
        nargs="?",
        type=Path,
        default=Path(__file__).parent.parent / "scenarios/room-evacuation.yaml",
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--top", type=int, default=40)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crowdsim-compile-") as cache:
        os.environ |= {"CROWDSIM_CACHE_DIR": cache, "CROWDSIM_COMPILE_PROCESSES": "1"}
        import crowdsim
        from crowdsim.simulation.simulation import Simulation
        from crowdsim.simulation.warm import warm_kernels

        ledger = Ledger()
        watch(ledger)
        scenario = crowdsim.load_scenario(options.scenario, sets=options.set)
        started, wall = time.process_time(), time.perf_counter()
        warm_kernels(scenario, Simulation)
        spent, wall = time.process_time() - started, time.perf_counter() - wall
        size = sum(file.stat().st_size for file in Path(cache).rglob("*") if file.is_file())
    show(ledger, options, spent, wall, size)


def show(ledger: Ledger, options: argparse.Namespace, spent: float, wall: float, size: int) -> None:
    of_function: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for (function, part), seconds in ledger.cost.items():
        of_function[function][part] += seconds
    rows = sorted(of_function.items(), key=lambda item: -sum(item[1].values()))
    head = f"{'function':62}{'times':>6}{'all':>8}" + "".join(f"{part:>9}" for part in PARTS)
    print(head)
    for function, parts in rows[: options.top]:
        print(
            f"{function:62}{ledger.count[function]:6}{sum(parts.values()):8.2f}"
            + "".join(f"{parts.get(part, 0):9.2f}" for part in PARTS)
        )
    total = {part: sum(parts.get(part, 0.0) for _, parts in rows) for part in PARTS}
    print(
        f"{'all ' + str(len(rows)):62}{sum(ledger.count.values()):6}{sum(total.values()):8.2f}"
        + "".join(f"{total[part]:9.2f}" for part in PARTS)
    )
    print(f"\n{'kernel, with what it calls that was not compiled yet':62}{'all':>14}")
    for kernel, seconds in sorted(ledger.kernel.items(), key=lambda item: -item[1])[: options.top]:
        print(f"{kernel:62}{seconds:14.2f}")
    print(
        f"\nwarm-up {spent:.1f} s of the processor, {wall:.1f} s by the clock, {size / 1e6:.1f} MB in the "
        "cache"
    )
    if options.csv:
        lines = ["function,times," + ",".join(PARTS)]
        lines += [
            f"{function},{ledger.count[function]},"
            + ",".join(f"{parts.get(part, 0.0):.4f}" for part in PARTS)
            for function, parts in rows
        ]
        options.csv.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
