"""One scene under several avoidance models, in numbers that can be put side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from crowdsim.avoidance.guard import ModelError
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.ways import ideal_times
from crowdsim.schedule.simulation import Simulation
from crowdsim.world.events import EventKind


@dataclass(frozen=True)
class Outcome:
    """What a scene came to under one model and seed.

    Attributes
    ----------
    scenario, model : str
    seed : int
    agents, arrived : int
        Agents with a goal, and those who reached their last one.
    last_arrival_s : float
        nan where nobody arrived.
    time_over_ideal : float
        Mean, over those who arrived, of the time that they walked over the time of their shortest way at their desired speed; nan where there are none.
    longest_ideal_s : float
        The longest of these shortest times; nan without agents that have a way.
    stuck_agent_s : float, s
        Time that agents were stuck (less than 0.2 m of net displacement in 10 s), summed over agents.
    overlap_pair_s : float, s
        Time that pairs of bodies overlapped after they were pushed apart, summed over pairs.
    deepest_overlap_m : float
    relaxed_share : float
        Share of all choices that could not keep every constraint; nan where none was made.
    ms_per_tick, us_per_agent_tick, avoid_us_per_agent_tick : float
        Clock readings: of the whole tick, of the whole tick for one agent, and of the models alone for one agent. They differ from run to run.
    failed : str
        What ended the run, if a model broke a promise.
    """

    scenario: str
    model: str
    seed: int
    agents: int
    arrived: int
    last_arrival_s: float = np.nan
    time_over_ideal: float = np.nan
    longest_ideal_s: float = np.nan
    stuck_agent_s: float = 0.0
    overlap_pair_s: float = 0.0
    deepest_overlap_m: float = 0.0
    relaxed_share: float = np.nan
    ms_per_tick: float = np.nan
    us_per_agent_tick: float = np.nan
    avoid_us_per_agent_tick: float = np.nan
    failed: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON: what is not a number is None."""
        return {key: None if isinstance(value, float) and not np.isfinite(value) else value for key, value in asdict(self).items()}


def run_scene(scenario: Scenario, model: str, *, threads: int = 1, progress: Callable[[Simulation], None] | None = None) -> Outcome:
    """Run a scenario to its end, without a recording.

    Parameters
    ----------
    scenario : Scenario
    model : str
        How the outcome names the model.
    threads : int
    progress : callable, optional
        As `Simulation.run` takes it.
    """
    sums = dict.fromkeys(("agents", "stuck", "overlaps", "relaxed", "infeasible"), 0.0)
    deepest, failed = 0.0, ""
    with Simulation(scenario, threads=threads) as run:
        ideal, arrived = ideal_times(run.built), np.zeros(len(run.built.agents), dtype=np.int64)
        try:
            while not run.why_over():
                events = run.step()
                ends = events[events["kind"] == EventKind.ARRIVAL]
                arrived[ends["entity"] - 1] = ends["tick"]
                deepest = max(deepest, run.counts["deepest_overlap_m"])
                for name in sums:
                    sums[name] += run.counts[name]
                if progress is not None:
                    progress(run)
        except ModelError as error:
            failed = str(error)
        tick, there = scenario.tick, arrived > 0
        ratio = (arrived - run.built.agents.start_tick)[there] * tick / np.maximum(ideal[there], tick)
        ns, ticks = dict(zip(run.probes.names, run.probes.total.tolist(), strict=True)), max(1, run.tick)
        agent_ticks = max(1.0, sums["agents"])
        return Outcome(
            scenario=scenario.name,
            model=model,
            seed=scenario.seed,
            agents=int(np.count_nonzero(~np.isnan(ideal))),
            arrived=int(np.count_nonzero(there)),
            last_arrival_s=float(arrived.max() * tick) if there.any() else np.nan,
            time_over_ideal=float(ratio.mean()) if there.any() else np.nan,
            longest_ideal_s=float(ideal[np.isfinite(ideal)].max()) if np.isfinite(ideal).any() else np.nan,
            stuck_agent_s=sums["stuck"] * tick,
            overlap_pair_s=sums["overlaps"] * tick,
            deepest_overlap_m=deepest,
            relaxed_share=(sums["relaxed"] + sums["infeasible"]) / agent_ticks,
            ms_per_tick=sum(ns.values()) / 1e6 / ticks,
            us_per_agent_tick=sum(ns.values()) / 1e3 / agent_ticks,
            avoid_us_per_agent_tick=ns["Avoid"] / 1e3 / agent_ticks,
            failed=failed,
        )


def over_seeds(outcomes: Sequence[Outcome]) -> Outcome:
    """Return several runs of one scene under one model as one: agents and times that are summed are summed, deepest and last are the greatest, the
    others are means; the seed is that of the first."""
    first = outcomes[0]

    def of(name: str) -> list[float]:
        return [value for outcome in outcomes if np.isfinite(value := getattr(outcome, name))]

    def mean(name: str) -> float:
        return float(np.mean(of(name))) if of(name) else np.nan

    return replace(
        first,
        agents=sum(outcome.agents for outcome in outcomes),
        arrived=sum(outcome.arrived for outcome in outcomes),
        last_arrival_s=max(of("last_arrival_s"), default=np.nan),
        stuck_agent_s=sum(of("stuck_agent_s")),
        overlap_pair_s=sum(of("overlap_pair_s")),
        deepest_overlap_m=max(of("deepest_overlap_m")),
        failed="; ".join(dict.fromkeys(outcome.failed for outcome in outcomes if outcome.failed)),
        time_over_ideal=mean("time_over_ideal"),
        relaxed_share=mean("relaxed_share"),
        ms_per_tick=mean("ms_per_tick"),
        us_per_agent_tick=mean("us_per_agent_tick"),
        avoid_us_per_agent_tick=mean("avoid_us_per_agent_tick"),
    )


# arrived of those with a goal; last arrival, s; time over ideal; stuck agent-seconds; overlapping pair-seconds; deepest overlap, cm; clock readings
HEADERS = ("scene", "model", "arrived", "last s", "time/ideal", "stuck s", "overlap s", "deepest cm", "ms/tick", "us/agent")


def table_row(outcome: Outcome) -> tuple[str, ...]:
    """Return an outcome as the cells of a table with `HEADERS`."""

    def number(value: float, digits: int) -> str:
        return f"{value:.{digits}f}" if np.isfinite(value) else "-"

    return (
        outcome.scenario, outcome.model, f"{outcome.arrived:,} of {outcome.agents:,}", number(outcome.last_arrival_s, 1), number(outcome.time_over_ideal, 2),
        number(outcome.stuck_agent_s, 0), number(outcome.overlap_pair_s, 1), number(100.0 * outcome.deepest_overlap_m, 1), number(outcome.ms_per_tick, 2),
        number(outcome.us_per_agent_tick, 1),
    )  # fmt: skip


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as Markdown; all columns but the first two are numbers."""
    lines = [headers, ["---" if column < 2 else "---:" for column in range(len(headers))], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
