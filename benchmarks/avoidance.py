"""Every avoidance model beside the simulators that pip installs, on the same crowds in one run, by turns:
ratios are the result, times are of the machine.

    python benchmarks/avoidance.py
        10,000 agents, everything; a quarter of an hour, much of it setting up JuPedSim
    python benchmarks/avoidance.py --products crowdsim pyrvo    without the slower peers, a minute
    python benchmarks/avoidance.py --models orca --agents 100000
    python benchmarks/avoidance.py --json
        one JSON object: machine, rows, figures asked for, what is missing

A step is all that turns one state into the next: index, neighbour search, what the model does, integration
(not: pushing agents apart). The crowd is that of `crowdsim/bench/crowds.py`: 1 a square metre, ten neighbours
within 5 m, radii and speeds of their own, on open ground and among pillars, with ids shuffled and by rows.
ORCA's velocities after the first step are held against RVO2's. One thread is measured by processor time, so
that what else runs on the machine matters little; two threads by the clock on the wall, or, where others use
the machine and the clock says nothing, by the processor time of serial work and of the longer part of what is
shared. A ratio is the median of ratios within a round; in brackets are its quartiles.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run as a file, from anywhere

from crowdsim.avoidance.registry import available_models
from crowdsim.bench.crowds import NEIGHBOURS, RANGE, TICK, Crowd, Walker, crowd
from crowdsim.bench.peers import PEERS, pyrvo_simulator
from crowdsim.bench.rounds import Runner, machine, ratio, take_turns
from crowdsim.kernels.threads import Team

GROUNDS, IDS, PRODUCTS = (
    ("open", "pillars"),
    ("shuffled", "spatial"),
    ("crowdsim", *dict.fromkeys(peer.product for peer in PEERS)),
)
# agent-steps a second of DetourCrowd's sampling ([Recast 2009]), which no wheel ships
DETOUR_CROWD_MILLION = 0.15
# Two crowds at once, each on a core of its own: the most that a second core is worth on the machine.
TWICE = ", two crowds"
IDLE = 0.1  # Cores that others use, above which the clock on the wall says nothing about two threads.
# m/s, and the share of agents that must agree to this: where no velocity is permitted, float32 decides
# between near equals
AGREE, AGREEING = 1e-3, 0.999

# What is asked: name, what is measured, the bound. All among pillars with shuffled ids, on one thread unless
# the name says more.
ASKED = (
    ("ORCA's step is at least 8 times as fast as pyrvo's doStep (aim: 15)", "pyrvo", 8.0),
    ("ORCA's step on two threads is at least 1.7 times as fast as on one", "threads", 1.7),
    (
        "sampled hRVO with 60 samples makes at least 3 times DetourCrowd's 0.15 million agent-steps a second",
        "sampled-hrvo",
        3 * DETOUR_CROWD_MILLION,
    ),
    ("ClearPath makes at least 0.2 million agent-steps a second", "clearpath", 0.2),
)


class MeasuredTeam(Team):
    """A team that adds up what it could have saved, in s of processor time:
    of each run everything but its longest part.

    On a busy machine threads wait for a core; what a run costs where each thread has a core at once is the
    processor time of everything less this. Threads of Python do the parts, which can be timed one by one:
    handing a part over takes them longer than compiled code, so that two threads are a little faster than is
    said here.
    """

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self.saved = 0.0
        self._pool = ThreadPoolExecutor(max(1, self.threads - 1))

    def run(
        self, kernel: Callable[..., Any], rows: int, *arguments: Any, at_least: int | None = None
    ) -> list[Any]:
        """Run as `Team.run` does, in as many ranges as there are threads where nothing else is said."""
        parts = min(self.threads, rows // (at_least or 512))
        if parts < 2:
            return [kernel(0, rows, *arguments)]

        def timed(part: int) -> tuple[Any, float]:
            begin = time.thread_time()
            value = kernel(rows * part // parts, rows * (part + 1) // parts, *arguments)
            return value, time.thread_time() - begin

        others = [self._pool.submit(timed, part) for part in range(1, parts)]
        done = [timed(0), *(each.result() for each in others)]
        spent = [seconds for _, seconds in done]
        self.saved += sum(spent) - max(spent)
        return [value for value, _ in done]

    def close(self) -> None:
        """Stop the threads."""
        super().close()
        self._pool.shutdown()


class Pair:
    """Two crowds, each walked by a thread of its own that shares no work with the other:
    what a machine's second core is worth at best.
    """

    def __init__(self, agents: Crowd, model: str) -> None:
        self.walkers = [Walker(agents, model) for _ in range(2)]
        self._pool = ThreadPoolExecutor(1)

    def step(self) -> None:
        """Walk both one tick, at once."""
        beside = self._pool.submit(self.walkers[1].step)
        self.walkers[0].step()
        beside.result()

    def close(self) -> None:
        """Stop the thread."""
        self._pool.shutdown()


def own_runners(people: Crowd, models: list[str], threads: list[int]) -> list[Runner]:
    """Return our models, each on each number of threads."""
    runners = []
    for model in models:
        for number in threads:
            team = MeasuredTeam(number)
            walker = Walker(people, model, team)
            row = {
                "product": "crowdsim",
                "model": model,
                "ground": people.ground,
                "ids": people.ids,
                "threads": number,
                "tick_s": TICK,
            }
            runners.append(Runner(row, len(people), walker.step, _stages_of(walker, team), walker.close))
    if "orca" in models and 2 in threads:
        pair = Pair(people, "orca")
        row = {
            "product": "crowdsim",
            "model": f"orca{TWICE}",
            "ground": people.ground,
            "ids": people.ids,
            "threads": 2,
            "tick_s": TICK,
            "beside": "orca",
        }
        runners.append(Runner(row, 2 * len(people), pair.step, close=pair.close))
    return runners


def _stages_of(walker: Walker, team: MeasuredTeam) -> Callable[[int], dict[str, float]]:
    def stages(steps: int) -> dict[str, float]:
        figures = {
            f"{name}_ns": spent / steps / len(walker.entity) * 1e9 for name, spent in walker.stages.items()
        }
        figures["saved_ns"] = team.saved / steps / len(walker.entity) * 1e9
        walker.stages, team.saved = dict.fromkeys(walker.stages, 0.0), 0.0
        return {**figures, "samples": float(walker.out.samples.mean())}

    return stages


def peer_runners(people: Crowd, products: list[str], missing: dict[str, str]) -> list[Runner]:
    """Return the peers that can be had; `missing` receives the others, with the reason."""
    runners = []
    for peer in PEERS:
        if peer.product not in products:
            continue
        fewer = (
            crowd(peer.most_agents, people.ground, people.ids) if len(people) > peer.most_agents else people
        )
        try:
            step, more = peer.build(fewer)
        except ImportError as error:
            missing[peer.product] = f"not installed (pip install {peer.product}): {error}"
            continue
        except Exception as error:
            # whatever a peer does not like about the crowd: its row is missing, and it is said why
            missing[f"{peer.product} {peer.model}, {people.ground}, {people.ids}"] = (
                f"refused the crowd: {error}"
            )
            continue
        row = {
            "product": peer.product,
            "model": peer.model,
            "ground": people.ground,
            "ids": people.ids,
            "threads": 1,
            "tick_s": peer.tick,
        }
        runners.append(Runner({**row, "beside": peer.beside, "alike": peer.alike}, len(fewer), step, more))
    return runners


def agreement_with_rvo2(people: Crowd) -> dict[str, float]:
    """Return how ORCA's velocities differ from RVO2's after one step of the same crowd."""
    walker, simulator = Walker(people, "orca"), pyrvo_simulator(people)
    walker.step()
    simulator.do_step()
    theirs = [simulator.get_agent_velocity(row) for row in range(len(people))]
    apart = np.hypot(*(walker.velocity - np.array([[one.x, one.y] for one in theirs])).T)
    return {
        "agreeing_share": float((apart <= AGREE).mean()),
        "median_difference_m_s": float(np.median(apart)),
        "largest_difference_m_s": float(apart.max()),
    }


def measure(people: Crowd, arguments: argparse.Namespace, missing: dict[str, str]) -> list[dict[str, Any]]:
    """Return the rows of one crowd: ours, then the peers, which are each set beside one of ours on one
    thread.
    """
    own = own_runners(people, arguments.models, arguments.threads) if "crowdsim" in arguments.products else []
    runners = own + peer_runners(people, arguments.products, missing)
    others = take_turns(runners, arguments.rounds)
    single = {runner.row["model"]: runner for runner in own if runner.row["threads"] == 1}
    rows = []
    for runner in runners:
        row, beside = runner.result(), single.get(runner.row.get("beside", runner.row["model"]))
        if runner.row["product"] != "crowdsim" and beside:
            row |= ratio(runner.cpu, beside.cpu)
        elif runner.row["threads"] > 1 and beside:
            row |= {"beside": "one thread", **ratio(beside.wall, runner.wall)}
            row["cores_of_others"] = None if isnan(others) else round(others, 2)
        if runner.row["product"] == "crowdsim" and runner.row["threads"] > 1 and runner.more and beside:
            longest = [cpu - noted["saved_ns"] for cpu, noted in zip(runner.cpu, runner.noted, strict=True)]
            row["ratio_by_longest_part"] = ratio(beside.cpu, longest)["ratio"]
        if runner.row["product"] == "pyrvo" and "orca" in single:
            row |= agreement_with_rvo2(people)
        rows.append(row)
        if runner.close:
            runner.close()
    return rows


def asked(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the requirement asks for, with what was measured;
    `met` is None where it was not measured.
    """
    figures = []
    for text, what, bound in ASKED:
        found = {
            f"{row['ground']}, {row['ids']}": _measured(row, what)
            for row in rows
            if _measured(row, what) is not None
        }
        value = found.get("pillars, shuffled")
        one = {
            "asked": text,
            "bound": round(bound, 4),
            "measured": value,
            "met": None if value is None else bool(value >= bound),
            "everywhere": found,
        }
        if what == "threads":
            two = [row for row in rows if _measured(row, what) is not None]
            for name, column in (
                ("by_the_wall", "ratio"),
                ("by_longest_part", "ratio_by_longest_part"),
                ("cores_of_others", "cores_of_others"),
            ):
                one[name] = {f"{row['ground']}, {row['ids']}": row[column] for row in two}
            alone = [row for row in rows if row["model"] == f"orca{TWICE}" and "ratio" in row]
            one["two_crowds_at_once"] = {f"{row['ground']}, {row['ids']}": row["ratio"] for row in alone}
        figures.append(one)
    return figures


def _measured(row: dict[str, Any], what: str) -> float | None:
    """Return a row's figure, if the row is about what is asked."""
    ours = row["product"] == "crowdsim"
    if what == "pyrvo" and row["product"] == "pyrvo" and "ratio" in row:
        # other velocities would be other work, and no comparison
        return row["ratio"] if row["agreeing_share"] >= AGREEING else 0.0
    if what == "threads" and ours and row["model"] == "orca" and row["threads"] == 2 and "ratio" in row:
        return row["ratio_by_longest_part"] if (row["cores_of_others"] or 0.0) > IDLE else row["ratio"]
    return row["million_a_second"] if ours and row["model"] == what and row["threads"] == 1 else None


def verdict(figures: list[dict[str, Any]], missing: dict[str, str]) -> str:
    """Return the last line."""
    met, unknown = sum(one["met"] is True for one in figures), sum(one["met"] is None for one in figures)
    failed = [one["asked"] for one in figures if one["met"] is False]
    not_met = f"not met: {'; '.join(failed)}" if failed else ""
    parts = [
        f"{met} of {len(figures)} figures asked for are met",
        not_met,
        f"{unknown} not measured" if unknown else "",
    ]
    return "; ".join(part for part in parts if part) + (
        f". Missing: {', '.join(missing)}." if missing else "."
    )


def table(row: dict[str, Any]) -> str:
    """Return a row for people."""
    beside = ""
    if "ratio" in row:
        like = (
            "one thread's"
            if row["product"] == "crowdsim"
            else {"same": "same", "kind": "like", "other": "other than"}[row["alike"]] + f" {row['beside']}"
        )
        beside = f"{row['ratio']:8.2f} [{row['ratio_low']:.2f}, {row['ratio_high']:.2f}] {like}"
    if "steering_share" in row:
        beside += f"; without routing {row['cpu_ns'] * row['steering_share']:,.0f} ns"
    return (
        f"{row['product']:9} {row['model']:31} {row['ground']:8} {row['ids']:9} {row['threads']:3} "
        f"{row['agents']:8,}"
        f" {row['cpu_ns']:12,.0f} {row['wall_ns']:12,.0f} {row['million_a_second']:8.3f} {beside}"
    )


def said(figures: dict[str, Any]) -> str:
    """Return figures by crowd."""
    return "; ".join(f"{place} {value}" for place, value in figures.items())


HEADER = (
    f"{'product':9} {'model':31} {'ground':8} {'ids':9} {'thr':>3} {'agents':>8} {'cpu, ns':>12} "
    f"{'wall, ns':>12} {'M/s':>8} {'times ours':>8}\n"
    "ns an agent and step; M/s: millions of agent-steps a second, of processor time on one thread, of the "
    "wall's on two; times ours: how many times the time of"
    " our model (same: the same velocities; like: the same idea; other than: another kind of model), or how "
    "many times as fast as on one thread"
)


def parsed(given: list[str] | None) -> argparse.Namespace:
    """Return the command line's wishes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--products", nargs="*", choices=PRODUCTS, default=list(PRODUCTS))
    parser.add_argument(
        "--models", nargs="*", choices=available_models(), default=list(available_models()), help="ours"
    )
    parser.add_argument("--grounds", nargs="*", choices=GROUNDS, default=list(GROUNDS))
    parser.add_argument("--ids", nargs="*", choices=IDS, default=list(IDS))
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    arguments = parsed(given)
    document: dict[str, Any] = {
        **machine(),
        "agents": arguments.agents,
        "rounds": arguments.rounds,
        "neighbours": NEIGHBOURS,
        "neighbour_distance_m": RANGE,
        "threads_of_peers": "1: pyrvo, JuPedSim and navground have no threads inside a step",
    }
    if not arguments.json:
        versions = ", ".join(f"{name} {number}" for name, number in document["versions"].items() if number)
        print(
            f"{document['date']}, {document['processor']}, {document['cores']} cores, load "
            f"{document['load']}, Python {document['python']}, {versions}"
        )
        print(HEADER, flush=True)
    rows: list[dict[str, Any]] = []
    missing: dict[str, str] = {}
    for ground in arguments.grounds:
        for ids in arguments.ids:
            found = measure(crowd(arguments.agents, ground, ids), arguments, missing)
            rows += found
            if not arguments.json:
                print("\n".join(table(row) for row in found), flush=True)
    figures = asked(rows)
    if arguments.json:
        document |= {
            "load_after": machine()["load"],
            "rows": rows,
            "missing": missing,
            "asked": figures,
            "verdict": verdict(figures, missing),
        }
        print(json.dumps(document, indent=1))
        return
    for name, reason in missing.items():
        print(f"missing: {name}: {reason}")
    for one in figures:
        state = {True: "met", False: "NOT MET", None: "not measured"}[one["met"]]
        print(
            f"{state}: {one['asked']}"
            + (f": {one['measured']}\n    {said(one['everywhere'])}" if one["everywhere"] else "")
        )
        if one.get("by_the_wall"):
            print(
                f"    by the wall's clock, which counts where others use up to {IDLE} cores: "
                f"{said(one['by_the_wall'])}"
            )
            print(
                "    by the processor time of serial work and of longest parts, which counts elsewhere: "
                f"{said(one['by_longest_part'])}"
            )
            print(f"    cores that others used meanwhile: {said(one['cores_of_others'])}")
            print(
                "    two crowds at once, which share no work: what a second core of this machine is worth "
                f"at best: {said(one['two_crowds_at_once'])}"
            )
    print(verdict(figures, missing))


if __name__ == "__main__":
    main()
