"""One scene under several avoidance models, in numbers that can be put side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from crowdsim.avoidance.guard import ModelError
from crowdsim.comparison.counts import RunCounts, Trace
from crowdsim.printable import without_nan
from crowdsim.scenario.model import Scenario
from crowdsim.setup.paths import ideal_times
from crowdsim.simulation.simulation import Simulation

SPREAD = (
    "last_arrival_s", "time_over_ideal", "path_over_optimal", "stuck_agent_s", "overlaps", "overlap_pair_s",
    "steerbench_score", "mean_acceleration_m_s2", "relaxed_share", "ms_per_tick", "us_per_agent_tick",
    "avoid_us_per_agent_tick",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What a scene resulted in under one model and seed.

    Attributes
    ----------
    scenario, model : str
    seed : int
    agents, arrived : int
        Agents with a goal, and those that reached their last one.
    last_arrival_s : float
        nan where nobody arrived.
    time_over_ideal : float
        Mean, over those that arrived, of the time that they walked over the time of their shortest path at
        their desired speed; nan where there are none.
    path_over_optimal : float
        Mean, over those that arrived, of the length that they walked over that of the shortest path for their
        width; nan where there are none.
    longest_ideal_s : float
        The longest of these shortest times; nan without agents that have a path.
    stuck_agent_s : float, s
        Time that agents were stuck (less than 0.2 m of progress along their paths in 10 s), summed over
        agents.
    overlaps : int
        How often two agents began to be deeper than a centimetre in each other.
    overlap_pair_s : float, s
        Time that pairs of agents overlapped at all after they were pushed apart, summed over pairs.
    deepest_overlap_m : float
    steerbench_score : float
        Mean over all agents of SteerBench's score: 50 for each collision (an overlap of more than a
        centimetre counts for both) + seconds on the way + kinetic energy of a mass of 1, summed 20 times a
        second; less is better. nan without agents.
    mean_acceleration_m_s2 : float, m/s²
        Mean over all agents of the mean amount of their acceleration on the way: how unsteady they walk. nan
        without agents.
    relaxed_share : float
        Share of all choices that could not keep every constraint; nan where none was made.
    ms_per_tick, us_per_agent_tick, avoid_us_per_agent_tick : float
        Clock readings: of the whole tick, of the whole tick for one agent, and of the models alone for one
        agent. They differ from run to run.
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
    path_over_optimal: float = np.nan
    longest_ideal_s: float = np.nan
    stuck_agent_s: float = 0.0
    overlaps: int = 0
    overlap_pair_s: float = 0.0
    deepest_overlap_m: float = 0.0
    steerbench_score: float = np.nan
    mean_acceleration_m_s2: float = np.nan
    relaxed_share: float = np.nan
    ms_per_tick: float = np.nan
    us_per_agent_tick: float = np.nan
    avoid_us_per_agent_tick: float = np.nan
    failed: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON: what is not a number is None."""
        return dict(without_nan(asdict(self)))


def run_scene(
    scenario: Scenario,
    model: str,
    *,
    threads: int = 1,
    trace: Trace | None = None,
) -> Outcome:
    """Run a scenario to its end, without a recording.

    Parameters
    ----------
    scenario : Scenario
    model : str
        How the outcome names the model.
    threads : int
    trace : Trace, optional
        Is filled with where all agents went.
    """
    sums = dict.fromkeys(("agents", "stuck", "overlaps", "relaxed", "infeasible"), 0.0)
    deepest, failed = 0.0, ""
    with Simulation(scenario, threads=threads) as run:
        ideal, counts = ideal_times(run.built), RunCounts(run, trace)
        try:
            while not run.why_over():
                counts.note(run.step())
                deepest = max(deepest, run.counts["deepest_overlap_m"])
                for name in sums:
                    sums[name] += run.counts[name]
        except ModelError as error:
            failed = str(error)
        tick, arrived, there = scenario.tick, counts.arrived, counts.arrived > 0
        optimal, alone = counts.shortest_paths()
        ideal = np.concatenate([ideal, alone[len(ideal) :]])
        ratio = counts.on_the_way_s()[there] / np.maximum(ideal[there], tick)
        ns, ticks = dict(zip(run.probes.names, run.probes.total.tolist(), strict=True)), max(1, run.tick)
        agent_ticks = max(1.0, sums["agents"])
        counts.close_trace([group.name for group in scenario.groups])
        known = optimal > 0.0  # and not nan; an agent at its goal from the start has walked none
        return Outcome(
            scenario=scenario.name,
            model=model,
            seed=scenario.seed,
            agents=int(np.count_nonzero(~np.isnan(ideal))),
            arrived=int(np.count_nonzero(there)),
            last_arrival_s=float(arrived.max() * tick) if there.any() else np.nan,
            time_over_ideal=float(ratio.mean()) if there.any() else np.nan,
            path_over_optimal=_mean(counts.length[known] / optimal[known]),
            longest_ideal_s=float(ideal[np.isfinite(ideal)].max()) if np.isfinite(ideal).any() else np.nan,
            stuck_agent_s=sums["stuck"] * tick,
            overlaps=counts.overlaps,
            overlap_pair_s=sums["overlaps"] * tick,
            deepest_overlap_m=deepest,
            steerbench_score=_mean(counts.scores()),
            mean_acceleration_m_s2=_mean(counts.mean_accelerations()),
            relaxed_share=(sums["relaxed"] + sums["infeasible"]) / agent_ticks,
            ms_per_tick=sum(ns.values()) / 1e6 / ticks,
            us_per_agent_tick=sum(ns.values()) / 1e3 / agent_ticks,
            avoid_us_per_agent_tick=ns["Avoid"] / 1e3 / agent_ticks,
            failed=failed,
        )


def _mean(values: Any) -> float:
    """Return the mean of what is a number; nan of nothing."""
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    return float(numbers.mean()) if len(numbers) else np.nan


@dataclass(frozen=True)
class OverSeeds:
    """What several runs of one scene under one model resulted in.

    Attributes
    ----------
    scenario, model : str
    seeds : tuple of int
    agents, arrived : int
        Summed over runs.
    last_arrival_s, deepest_overlap_m : float
        The greatest.
    mean, deviation : dict of str to float
        Of each number in `SPREAD`: mean and standard deviation (with n - 1) over those runs that came to
        their end and have the number; nan without any, the deviation also of one.
    failed : str
        What ended runs in which the model broke a promise.
    """

    scenario: str
    model: str
    seeds: tuple[int, ...]
    agents: int
    arrived: int
    last_arrival_s: float
    deepest_overlap_m: float
    mean: dict[str, float]
    deviation: dict[str, float]
    failed: str

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON: what is not a number is None."""
        return dict(without_nan(asdict(self)))


def over_seeds(outcomes: Sequence[Outcome]) -> OverSeeds:
    """Put runs of one scene under one model together.

    Parameters
    ----------
    outcomes : sequence of Outcome
        At least one.
    """
    first, whole = outcomes[0], [outcome for outcome in outcomes if not outcome.failed]

    def of(name: str, runs: Sequence[Outcome]) -> list[float]:
        return [value for outcome in runs if np.isfinite(value := getattr(outcome, name))]

    values = {name: of(name, whole) for name in SPREAD}
    return OverSeeds(
        scenario=first.scenario,
        model=first.model,
        seeds=tuple(outcome.seed for outcome in outcomes),
        agents=sum(outcome.agents for outcome in outcomes),
        arrived=sum(outcome.arrived for outcome in outcomes),
        last_arrival_s=max(of("last_arrival_s", outcomes), default=np.nan),
        deepest_overlap_m=max(of("deepest_overlap_m", outcomes)),
        mean={name: _mean(each) for name, each in values.items()},
        deviation={
            name: float(np.std(each, ddof=1)) if len(each) > 1 else np.nan for name, each in values.items()
        },
        failed="; ".join(dict.fromkeys(outcome.failed for outcome in outcomes if outcome.failed)),
    )


# arrived of those with a goal; time over ideal; length over that of the shortest path; stuck agent-seconds;
# overlaps deeper than 1 cm; deepest overlap, cm; SteerBench's score; clock readings, in milliseconds and
# microseconds
HEADERS = (
    "scene",
    "model",
    "arrived",
    "time/ideal",
    "path/optimal",
    "stuck s",
    "overlaps",
    "deepest cm",
    "score",
    "ms/tick*",
    "us/agent*",
)


def legend(seeds: int) -> str:
    """Return what a reader of the table has to know."""
    spread = (
        f"mean ± standard deviation of {seeds} seeds; arrived summed, deepest the deepest of all. "
        if seeds > 1
        else ""
    )
    return f"{spread}* clock readings, which differ from machine to machine."


def table_row(runs: OverSeeds) -> tuple[str, ...]:
    """Return runs as the cells of a table with `HEADERS`."""
    return (
        runs.scenario,
        runs.model,
        f"{runs.arrived:,} of {runs.agents:,}",
        spread_text(runs, "time_over_ideal", 2),
        spread_text(runs, "path_over_optimal", 3),
        spread_text(runs, "stuck_agent_s", 0),
        spread_text(runs, "overlaps", 0 if len(runs.seeds) == 1 else 1),
        f"{100.0 * runs.deepest_overlap_m:.1f}",
        spread_text(runs, "steerbench_score", 1),
        _number(runs.mean["ms_per_tick"], 2),
        _number(runs.mean["us_per_agent_tick"], 1),
    )


def spread_text(runs: OverSeeds, name: str, digits: int) -> str:
    """Return a number as its mean, with its deviation behind ± where there is one; - where there is none."""
    mean, deviation = runs.mean[name], runs.deviation[name]
    return _number(mean, digits) + (f" ± {_number(deviation, digits)}" if np.isfinite(deviation) else "")


def _number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}" if np.isfinite(value) else "-"


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as Markdown; all columns but the first two are numbers."""
    lines = [headers, ["---" if column < 2 else "---:" for column in range(len(headers))], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
