"""The fixed scenes of ``crowdsim bench``, and what is measured on each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdsim.bench.crowds import TICK, Walker, crowd
from crowdsim.bench.paths import jupedsim_paths, our_paths, pillar_hall, points_in
from crowdsim.bench.peers import PEERS
from crowdsim.bench.rounds import Runner, installed, spread, take_turns

# The models beside which peers are set; see `crowdsim.bench.peers`.
OURS = ("orca", "toi", "hrvo", "sampled-hrvo")
TICK_WARM = 20  # Ticks of the whole tick before it is timed: paths are planned in the first ones.
TICK_PEER = "doStep beside our whole tick"  # What the peer's row of that scene is called.
TICK_BLOCK = 40  # Ticks of a turn there: what is recorded is written in blocks.
WHOLE_TICK, MESH_PATHS = "orca, whole tick", "mesh paths"  # What our rows of those scenes are called.


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


def _row(product: str, model: str, threads: int = 1) -> dict[str, Any]:
    """Return what a row says of what is measured."""
    version = installed(product)
    return {"product": product, "model": model, "version": version, "threads": threads, "tick_s": TICK}


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
            walker = Walker(all_agents, model)
            row = _row("crowdsim", model)
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
            row = _row(peer.product, peer.model) | {"tick_s": peer.tick}
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
    from crowdsim.bench.square import document, rvo2_of
    from crowdsim.recording.locks import scratch_folder
    from crowdsim.scenario.load import parse_scenario
    from crowdsim.simulation.simulation import Simulation

    note("building the square")
    with (
        scratch_folder() as folder,
        Simulation(parse_scenario(document(agents), file="bench"), out=folder / "a.h5") as ours,
    ):
        for _ in range(TICK_WARM):
            ours.step()
        row = _row("crowdsim", WHOLE_TICK, ours.team.threads)
        runners = [Runner(row, agents, ours.step, steps=TICK_BLOCK)]
        if "pyrvo" in products:
            try:
                rvo2 = rvo2_of(ours)
            except ImportError:
                missing["pyrvo"] = "not installed (pip install pyrvo)"
            else:

                def wish(_: int) -> dict[str, float]:
                    for number, velocity in enumerate(ours.agents.preferred_velocity.tolist()):
                        rvo2.set_agent_pref_velocity(number, velocity)
                    return {}

                row = _row("pyrvo", f"RVO2, {TICK_PEER}") | {"beside": WHOLE_TICK, "alike": "less"}
                runners.append(Runner(row, agents, rvo2.do_step, wish, steps=TICK_BLOCK))
        note("taking turns")
        return measured(runners, rounds)


def _paths(
    agents: int, rounds: int, products: tuple[str, ...], missing: dict[str, str], note: Callable[[str], None]
) -> tuple[list[dict[str, Any]], float]:
    """Measure paths of so many points, ours beside those of JuPedSim's router."""
    ground = pillar_hall()
    places = points_in(ground, 2 * agents)
    note("building the mesh")
    ours = our_paths(ground, places[:agents], places[agents:])
    runners = [Runner(_row("crowdsim", MESH_PATHS), agents, ours, steps=1)]
    if "jupedsim" in products:
        try:
            theirs = jupedsim_paths(ground, places[:agents], places[agents:])
        except ImportError:
            missing["jupedsim"] = "not installed (pip install jupedsim)"
        else:
            row = _row("jupedsim", "RoutingEngine") | {"beside": MESH_PATHS, "alike": "kind"}
            row["longer"] = round(float(np.mean(theirs() / ours())), 4)
            runners.append(Runner(row, agents, theirs, steps=1))
    note("taking turns")
    return measured(runners, rounds)


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
        _paths,
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
