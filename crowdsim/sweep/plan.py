"""The runs of a sweep: each combination is read and checked before the first one runs,
each run has an id that follows from what it is; and what they take.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crowdsim.avoidance.registry import origin_of
from crowdsim.commands import command
from crowdsim.errors import CrowdsimError, Problem, ScenarioError
from crowdsim.scenario.load import load_scenario
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.yaml_reader import read_yaml
from crowdsim.sweep.code import code_version
from crowdsim.sweep.design import Point
from crowdsim.sweep.folder import FINISHED

_MOST_SHOWN = 20  # Mistakes that are reported; combinations that make the same one are reported once.


@dataclass(frozen=True)
class Source:
    """Where the scenario of a sweep comes from.

    Attributes
    ----------
    scenario : Path
    sets : tuple of str
        Values that all runs have, as for ``--set``.
    allow_dirs, plugins : tuple of Path
    """

    scenario: Path
    sets: tuple[str, ...] = ()
    allow_dirs: tuple[Path, ...] = ()
    plugins: tuple[Path, ...] = ()

    def load(self, point: Point) -> Scenario:
        """Return the scenario of one combination."""
        return load_scenario(self.scenario, sets=[*self.sets, *options_of(point)], allow_dirs=self.allow_dirs)

    def command(self, point: Point, seed: int, record: bool) -> str:
        """Return the shell command that does one run of the sweep by itself."""
        options: list[tuple[str | Path, ...]] = [
            *(("--set", option) for option in (*self.sets, *options_of(point))),
            ("--seed", str(seed)),
            *(("--allow-dir", folder) for folder in self.allow_dirs),
            *(("--plugin", plugin) for plugin in self.plugins),
            () if record else ("--no-record",),
        ]
        return command("run", self.scenario, *itertools.chain.from_iterable(options))


@dataclass(frozen=True)
class Run:
    """One run of a sweep.

    Attributes
    ----------
    number : int
        Its place in the design, from 0.
    id : str
        20 hexadecimal digits over the resolved scenario, the seed and the code.
    point : dict of str to str
        The varied values, as text.
    values : dict of str to str, int, float, bool or None
        The same as they stand in the table.
    seed : int
    text : str
        The resolved scenario, in which the seed counts for nothing.
    kind : str
        Which kernels it needs. Workers make them ready once for each kind.
    load : tuple of (int, int, int)
        Agents, ticks at most, frames at most.
    """

    number: int
    id: str
    point: Point
    values: dict[str, Any]
    seed: int
    text: str
    kind: str
    load: tuple[int, int, int]


@dataclass(frozen=True)
class Plan:
    """A sweep before it runs.

    Attributes
    ----------
    name : str
    source : Source
    runs : tuple of Run
    notes : tuple of str
        What is no mistake but might not be meant.
    """

    name: str
    source: Source
    runs: tuple[Run, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def keys(self) -> list[str]:
        """The keys that are varied, in the order of the design."""
        return list(dict.fromkeys(key for run in self.runs for key in run.point))

    def command(self, run: Run, *, record: bool) -> str:
        """Return the shell command that does one run by itself."""
        return self.source.command(run.point, run.seed, record)


def options_of(point: Point) -> list[str]:
    """Return a combination as ``--set`` takes it."""
    return [f"{key}={value}" for key, value in point.items()]


def plan_sweep(
    source: Source,
    points: Sequence[Point],
    seeds: Sequence[int] = (),
    *,
    name: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """Read and check every combination of a design, and give every run its id.

    Parameters
    ----------
    source : Source
    points : sequence of Point
    seeds : sequence of int
        Each combination is run with each of them; without any, once with its own.
    name : str
        Default: that of the scenario's file.
    progress : callable, optional
        Called with how many combinations are checked, and of how many.

    Returns
    -------
    Plan

    Raises
    ------
    ScenarioError
        If combinations are wrong: each mistake once, with the values of the first combination that makes it.
    CrowdsimError
        If seeds are given twice, by the design and by `seeds`.
    """
    if seeds and any("seed" in point for point in points):
        raise CrowdsimError("the seed is varied twice, as a key and by seeds. Keep one of the two.")
    code = code_version()
    runs: list[Run] = []
    mistakes: dict[Problem, tuple[Point, int]] = {}
    notes: dict[str, None] = {}
    for number, point in enumerate(points):
        if progress is not None:
            progress(number, len(points))
        try:
            scenario = source.load(point)
        except ScenarioError as error:
            for problem in error.problems:
                first, count = mistakes.get(_bare(problem), (point, 0))
                mistakes[_bare(problem)] = (first, count + 1)
            continue
        notes |= dict.fromkeys(str(_bare(note)) for note in scenario.notes)
        if scenario.budget.values.get("milliseconds"):
            notes["milliseconds decide how far searches get: these runs will differ each time"] = None
        text = replace(scenario, seed=0).canonical()
        frames = scenario.stop.ticks // scenario.record.ticks_per_frame + 1
        resolved = text, kernels_of(scenario), (scenario.agent_count, scenario.stop.ticks, frames)
        scenario_key = hashlib.blake2b(
            f"{code} {_plugins_of(scenario)} {text}".encode(), digest_size=20
        ).hexdigest()
        values = {key: plain_value(value) for key, value in point.items() if key != "seed"}
        for seed in seeds or [scenario.seed]:
            identity = hashlib.blake2b(f"{scenario_key} {seed}".encode(), digest_size=10).hexdigest()
            runs.append(Run(len(runs), identity, point, values, seed, *resolved))
    if mistakes:
        raise _told(mistakes, len(points))
    return Plan(name or source.scenario.stem, source, tuple(runs), tuple(notes))


def _bare(problem: Problem) -> Problem:
    """Return a problem as it is in all combinations that make the same mistake:
    an option is named by its key, the value stands in the message.
    """
    option = problem.file.removeprefix("--set ")
    return replace(problem, file=f"--vary {option.partition('=')[0]}") if option != problem.file else problem


def _told(mistakes: dict[Problem, tuple[Point, int]], count: int) -> ScenarioError:
    """Return the error of all mistakes, each with the first combination that makes it."""
    problems = []
    for problem, (point, times) in list(mistakes.items())[:_MOST_SHOWN]:
        values = ", ".join(options_of(point)) or "the scenario as it is"
        others = f" and in {times - 1:,} more of {count:,} combinations" if times > 1 else ""
        problems.append(replace(problem, message=f"{problem.message}\n    with {values}{others}"))
    if len(mistakes) > _MOST_SHOWN:
        problems.append(Problem("", f"and {len(mistakes) - _MOST_SHOWN:,} more mistakes"))
    return ScenarioError(problems)


def plain_value(text: str) -> Any:
    """Return a value as a table holds it: numbers and truth values as such,
    everything else as the text that was given.
    """
    node, _ = read_yaml(text, "value")
    value = node.value if node is not None else None
    return value if isinstance(value, (str, int, float, bool)) else text


def kernels_of(scenario: Scenario) -> str:
    """Return in words which kernels a scenario needs:
    scenarios with one answer find them ready once one of them was made ready for.
    """
    geometry, bodies = scenario.geometry, scenario.bodies.values
    switches = {
        "floors": len(geometry.floor_names) > 1 or bool(geometry.patches) or bool(geometry.named_speeds),
        "changes": bool(geometry.areas or scenario.obstacles),
        "explains": bool(scenario.record.explain),
        "round_stationary": any(bool(each.values.get("round_stationary")) for each in scenario.navigations),
        **{name: bool(bodies[name]) for name in ("local_grid", "nudging", "replanning") if name in bodies},
    }
    names = [
        *(f"model {each.name}" for each in scenario.models),
        f"law {scenario.speed_density.name}",
        *(each.name for each in scenario.navigations),
    ]
    return ", ".join([*names, *(name for name, is_on in switches.items() if is_on)])


def _plugins_of(scenario: Scenario) -> str:
    """Return the hashes of the plug-ins that a scenario uses."""
    origins = {
        chosen.name: origin_of(chosen.name)
        for chosen in (*scenario.models, *scenario.navigations, *scenario.systems)
    }
    return " ".join(
        f"{name}={origin.sha256}" for name, origin in sorted(origins.items()) if origin is not None
    )


# Of small crowds with any model and a recording, one thread of a 2.5 GHz core (31 to 61 in
# docs/learn/models.md); large ones less.
US_PER_AGENT_TICK = 40.0
MS_PER_TICK = 0.5  # What a tick of a small scene takes however few agents there are.
# Of an agent in a frame, all columns, compressed (docs/reference/recordings.md has 22 to 41).
BYTES_PER_ROW = 30.0
BYTES_PER_TICK = 150.0  # Digests and timings.


@dataclass(frozen=True)
class Estimate:
    """What the runs that are waiting will take.

    Attributes
    ----------
    seconds : float
        Of one worker.
    size_mb : float
        Of their recordings.
    measured_on : int
        Finished runs that the time was taken from; 0: it is what they take if all agents stay until the end.
    """

    seconds: float
    size_mb: float
    measured_on: int


def estimate(todo: Sequence[Run], known: Sequence[Mapping[str, Any]], *, record: bool) -> Estimate:
    """Return what runs will take.

    Parameters
    ----------
    todo : sequence of Run
    known : sequence of dict
        Results of other runs of the sweep.
    record : bool

    Returns
    -------
    Estimate
    """
    most, ticks, rows = 0.0, 0.0, 0.0
    for run in todo:
        agents, run_ticks, frames = run.load
        most += run_ticks * (agents * US_PER_AGENT_TICK / 1e6 + MS_PER_TICK / 1e3)
        ticks, rows = ticks + run_ticks, rows + agents * frames
    taken = [
        result["timings"]["run_s"]
        for result in known
        if result["status"] == FINISHED and "run_s" in result["timings"]
    ]
    seconds = len(todo) * sum(taken) / len(taken) if taken else most
    return Estimate(
        seconds, (rows * BYTES_PER_ROW + ticks * BYTES_PER_TICK) / 1e6 if record else 0.0, len(taken)
    )
