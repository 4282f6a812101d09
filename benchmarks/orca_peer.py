"""ORCA's step beside RVO2's, compiled from its sources, and what it costs that ids are in no order of places.

    python benchmarks/orca_peer.py [--rvo2 ./rvo2_steps] [--agents 10000 100000 1000000]
        [--grounds open pillars] [--rounds 9] [--json]

The crowds are those of `crowdsim/bench/crowds.py`: one agent a square metre, ten neighbours within 5 m. A
step is all that leads from one state to the next: index, neighbours, half-planes, linear programs,
integration. In each round ours with ids by rows and with ids in any order, and RVO2 with both, make the same
number of steps by turns, so all are in the same tick of the same crowd; every other round goes the opposite
way. Velocities after the first step are compared first. Times are processor times of one thread, ns an agent
and step; a ratio is the median of those of the rounds, with quartiles in brackets. `rvo2_steps.cpp` says how
RVO2 is compiled; where it is not given, ours alone is measured.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from search_peers import Peer

from crowdsim.bench.crowds import HORIZON, NEIGHBOURS, RANGE, TICK, WALL_HORIZON, Crowd, Walker, crowd
from crowdsim.bench.rounds import ratio

IDS = ("spatial", "shuffled")
GOALS = {"beside RVO2, both by rows": 6.0, "ids in any order": 1.05}
STEPS_OF = 200_000  # agent-steps that a turn has at least
WARM = 10  # steps
AGREE = 1e-3  # m/s


class Ours:
    """A crowd that ORCA steers."""

    def __init__(self, people: Crowd) -> None:
        self.walker = Walker(people, "orca")
        self.walker.step()
        self.velocity = self.walker.velocity.copy()

    def turn(self, times: int) -> float:
        """Make so many steps; return the processor time of one (s)."""
        begin = time.process_time()
        for _ in range(times):
            self.walker.step()
        return (time.process_time() - begin) / times

    def close(self) -> None:
        """Stop its threads."""
        self.walker.close()


class RVO2(Peer):
    """The same crowd in RVO2."""

    def __init__(self, program: str, folder: Path, people: Crowd) -> None:
        asked = folder / "crowd"
        with asked.open("wb") as file:
            np.array([len(people), len(people.pillar), NEIGHBOURS], dtype=np.int32).tofile(file)
            np.array([TICK, RANGE, HORIZON, WALL_HORIZON]).tofile(file)
            np.column_stack([people.position, people.velocity, people.radius, people.maximum]).tofile(file)
            for ring in people.pillar_rings():
                ring[::-1].tofile(file)
        super().__init__(program, folder, asked)
        self.velocity = self.answers[:, :2]


def measured(agents: int, ground: str, program: str | None, rounds: int) -> list[dict[str, Any]]:
    """Return what is told of a crowd, by turns."""
    with tempfile.TemporaryDirectory() as folder:
        sides: dict[tuple[str, str], Ours | RVO2] = {}
        for ids in IDS:
            people = crowd(agents, ground, ids)
            sides["crowdsim", ids] = Ours(people)
            if program:
                sides["RVO2", ids] = RVO2(program, Path(folder), people)
        took = {side: np.empty(rounds) for side in sides}
        steps = max(1, STEPS_OF // agents)
        for number in range(-1, rounds):
            for side in list(sides)[:: 1 if number % 2 else -1]:
                spent = sides[side].turn(steps if number >= 0 else WARM)
                if number >= 0:
                    took[side][number] = spent / agents * 1e9
    rows = []
    for (product, ids), spent in took.items():
        row = {"product": product, "ids": ids, "ground": ground, "agents": agents}
        row["ns"] = float(np.median(spent))
        if ids == "shuffled":
            row["shuffled"] = ratio(list(spent), list(took[product, "spatial"]))
        if product == "RVO2":
            ours = sides["crowdsim", ids]
            apart = np.hypot(*(ours.velocity - sides[product, ids].velocity).T)
            row["agreeing"] = float((apart <= AGREE).mean())
            row["beside"] = ratio(list(spent), list(took["crowdsim", ids]))
        rows.append(row)
    for side in sides.values():
        side.close()
    return rows


def shown(row: dict[str, Any]) -> str:
    """Return a row for a reader."""
    text = f"{row['product']:9}{row['ground']:8}{row['ids']:9}{row['agents']:10,}{row['ns']:8,.0f}"
    for what in ("shuffled", "beside"):
        one = row.get(what)
        text += f"{one['ratio']:7.2f} [{one['ratio_low']:.2f}, {one['ratio_high']:.2f}]" if one else " " * 20
    return text + (f"  {100 * row['agreeing']:.2f} %" if "agreeing" in row else "")


def told(rows: list[dict[str, Any]]) -> list[str]:
    """Return for each goal where it is met."""
    found: dict[str, list[bool]] = {name: [] for name in GOALS}
    beside, shuffled = GOALS
    for row in rows:
        if row["product"] == "RVO2" and row["ids"] == "spatial":
            found[beside].append(row["beside"]["ratio"] >= GOALS[beside])
        if row["product"] == "crowdsim" and "shuffled" in row:
            found[shuffled].append(row["shuffled"]["ratio"] <= GOALS[shuffled])
    lines = []
    for name, met in found.items():
        if met:
            bound = f"{'at least' if GOALS[name] > 2.0 else 'at most'} {GOALS[name]} times"
            lines.append(f"{'met' if all(met) else 'NOT MET'}: {name}, {bound}: {sum(met)} of {len(met)}")
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rvo2", help="the program that rvo2_steps.cpp becomes")
    parser.add_argument("--agents", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--grounds", nargs="+", choices=["open", "pillars"], default=["open"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = []
    if not given.json:
        print(f"{'':9}{'ground':8}{'ids':9}{'agents':>10}{'ns':>8}{'of by rows':>13}{'of ours':>18}")
    for ground in given.grounds:
        for agents in given.agents:
            for row in measured(agents, ground, given.rvo2, given.rounds):
                rows.append(row)
                if not given.json:
                    print(shown(row), flush=True)
    print(json.dumps(rows) if given.json else "\n".join(told(rows)))


if __name__ == "__main__":
    main()
