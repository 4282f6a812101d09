"""The fixed scenes of ``crowdsim bench``, and what is measured on each."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crowdsim.bench.crowds import TICK, Walker, crowd
from crowdsim.bench.paths import measure_paths
from crowdsim.bench.peers import PEERS
from crowdsim.bench.rounds import Runner, installed, take_turns
from crowdsim.bench.rows import spread, times_of

# The models beside which peers are set; see `crowdsim.bench.peers`.
OURS = ("orca", "toi", "hrvo", "sampled-hrvo")
TICK_WARM = 20  # Ticks of the whole tick before it is timed: paths are planned in the first ones.
TICK_PEER = "doStep beside our whole tick"  # What the peer's row of that scene is called.


@dataclass(frozen=True)
class Scene:
    """One scene.

    Attributes
    ----------
    name, about : str
    agents, quick_agents : int
        How many, and with ``--quick``.
    rounds, quick_rounds : int
        Turns of each.
    run : callable
        Given agents, rounds, products, the dict of what is missing, and a function that takes what is going
        on, returns rows and the cores of others.
    """

    name: str
    about: str
    agents: int
    quick_agents: int
    rounds: int
    quick_rounds: int
    run: Callable[
        [int, int, tuple[str, ...], dict[str, str], Callable[[str], None]], tuple[list[dict[str, Any]], float]
    ]


def measured(runners: list[Runner], rounds: int) -> tuple[list[dict[str, Any]], float]:
    """Let all take turns; return a row for each, peers with the ratio of their time to that of our model
    beside them, and the cores that others used.
    """
    others = take_turns(runners, rounds)
    own = {runner.row["model"]: runner for runner in runners if runner.row["product"] == "crowdsim"}
    rows = []
    for runner in runners:
        row = runner.result()
        row["cpu_ns_least"], row["cpu_ns_most"] = round(min(runner.cpu), 1), round(max(runner.cpu), 1)
        beside = own.get(runner.row.get("beside", ""))
        rows.append(
            row
            | (
                spread(runner.cpu, beside.cpu)
                if beside is not None and runner.row["product"] != "crowdsim"
                else {}
            )
        )
        if runner.close:
            runner.close()
    return rows, others


def _steps(ground: str) -> Callable[..., tuple[list[dict[str, Any]], float]]:
    """Return what measures the steps of one crowd: our models, and every peer that is installed."""

    def run(
        agents: int,
        rounds: int,
        products: tuple[str, ...],
        missing: dict[str, str],
        note: Callable[[str], None],
    ) -> tuple[list[dict[str, Any]], float]:
        """Measure as `Scene.run` says."""
        all_agents = crowd(agents, ground)
        runners = []
        for model in OURS:
            row = {
                "product": "crowdsim",
                "model": model,
                "version": installed("crowdsim"),
                "threads": 1,
                "tick_s": TICK,
            }
            walker = Walker(all_agents, model)
            runners.append(Runner(row, len(all_agents), walker.step, close=walker.close))
        for peer in PEERS:
            if peer.product not in products:
                continue
            note(f"setting up {peer.product} {peer.model}")
            fewer = crowd(peer.most_agents, ground) if len(all_agents) > peer.most_agents else all_agents
            try:
                step, _ = peer.build(fewer)
            except ImportError:
                missing[peer.product] = f"not installed (pip install {peer.product})"
                continue
            except Exception as error:
                # whatever a peer does not like about the crowd: its row is missing, with the reason
                missing[f"{peer.product} {peer.model} on {ground} ground"] = f"refused the crowd: {error}"
                continue
            row = {
                "product": peer.product,
                "model": peer.model,
                "version": peer.version(),
                "threads": 1,
                "tick_s": peer.tick,
            }
            runners.append(Runner({**row, "beside": peer.beside, "alike": peer.alike}, len(fewer), step))
        note("taking turns")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a peer's own, of a root of something negative
            return measured(runners, rounds)

    return run


def _whole_tick(
    agents: int, rounds: int, products: tuple[str, ...], missing: dict[str, str], note: Callable[[str], None]
) -> tuple[list[dict[str, Any]], float]:
    """Measure all that a run does in a tick, its recording included,
    beside RVO2's bare step with the same agents.
    """
    from crowdsim.bench.rounds import busy_seconds
    from crowdsim.bench.square import document, rvo2_of
    from crowdsim.recording.locks import scratch_folder
    from crowdsim.scenario.load import parse_scenario
    from crowdsim.simulation.simulation import Simulation

    block = 40
    times: dict[str, list[float]] = {"ours": [], "rvo2": []}
    note("building the square")
    with (
        scratch_folder() as folder,
        Simulation(parse_scenario(document(agents), file="bench"), out=folder / "a.h5") as ours,
    ):
        for _ in range(TICK_WARM):
            ours.step()
        rvo2 = None
        if "pyrvo" in products:
            try:
                rvo2 = rvo2_of(ours)
            except ImportError:
                missing["pyrvo"] = "not installed (pip install pyrvo)"
        note("taking turns")
        busy, own, begin = busy_seconds(), time.process_time(), time.perf_counter()
        for _ in range(rounds):
            times["ours"].append(_timed(ours.step, block, agents))
            if rvo2 is not None:
                wish = ours.agents.preferred_velocity
                for row in range(len(wish)):
                    rvo2.set_agent_pref_velocity(row, wish[row].tolist())
                times["rvo2"].append(_timed(rvo2.do_step, block, agents))
        others = max(
            0.0, (busy_seconds() - busy - (time.process_time() - own)) / (time.perf_counter() - begin)
        )
    rows: list[dict[str, Any]] = [
        {
            "product": "crowdsim",
            "model": "orca, whole tick",
            "version": installed("crowdsim"),
            **times_of(times["ours"], agents, ours.team.threads),
        }
    ]
    if times["rvo2"]:
        peer: dict[str, Any] = {
            "product": "pyrvo",
            "model": f"RVO2, {TICK_PEER}",
            "version": installed("pyrvo"),
            "beside": "orca, whole tick",
            "alike": "less",
        }
        rows.append({**peer, **times_of(times["rvo2"], agents, 1), **spread(times["rvo2"], times["ours"])})
    return rows, others


def _timed(step: Callable[[], Any], steps: int, agents: int) -> float:
    """Return the processor time of some steps, ns an agent and step."""
    begin = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - begin) / steps / agents * 1e9


SCENES = (
    Scene(
        "open",
        "a step of a crowd of one a square metre on open ground: index, neighbours, model, integration",
        10_000,
        2_500,
        9,
        5,
        _steps("open"),
    ),
    Scene("pillars", "the same among pillars, about 5 m apart", 2_500, 1_000, 9, 5, _steps("pillars")),
    Scene(
        "paths",
        "paths of points between random places of a hall of 50 m with 300 pillars; agents are paths",
        1_000,
        300,
        9,
        5,
        measure_paths,
    ),
    Scene(
        "tick",
        "all that a run does in a tick, recording included, beside RVO2's bare step with the same agents",
        10_000,
        2_500,
        8,
        5,
        _whole_tick,
    ),
)
