"""Golden runs: recorded once, run again, and compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.recording.compare import compare_places, first_difference
from crowdsim.recording.compare_rows import Difference
from crowdsim.recording.header import software_versions
from crowdsim.recording.locks import scratch_folder
from crowdsim.recording.opening import open_run
from crowdsim.recording.reader import Recording
from crowdsim.regression.golden_recordings import MOST_BYTES, expected_bytes, later_digests, pack_golden
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.recorded import recordable_columns
from crowdsim.simulation.budget import milliseconds_of
from crowdsim.simulation.replay import Replay
from crowdsim.simulation.simulation import Simulation

# Ticks between digests that show changes after what is recorded. Fewer name a change more closely and are
# lines in a diff.
LATER_EVERY = 20


@dataclass(frozen=True)
class Ran:
    """What a run that was recorded for a comparison resulted in.

    Attributes
    ----------
    ticks : int
        Recorded ticks.
    verdict : dict
        With the last of them.
    later : dict of int to str
        Run digests after later ticks.
    """

    ticks: int
    verdict: dict[str, Any]
    later: dict[int, str]


def golden_scenario(scenario: Scenario) -> Scenario:
    """Return a scenario that is recorded as golden runs are:
    every column of all agents in every tick, traced.
    """
    columns = tuple(
        recordable_columns(
            has_machines=bool(scenario.behaviours.machines),
            has_parties=scenario.has_parties,
            has_connections=bool(scenario.carriers),
        )
    )
    every = replace(
        scenario.record,
        rate=1.0 / scenario.tick,
        ticks_per_frame=1,
        columns=columns,
        agents="all",
        every=1,
        region=None,
        trace=True,
    )
    return replace(scenario, record=every)


def require_same_each_time(scenario: Scenario, where: str) -> None:
    """Raise CrowdsimError where milliseconds decide how far searches get:
    such a run is another one each time.
    """
    if milliseconds_of(scenario):
        raise CrowdsimError(
            f"{where}: has a budget of milliseconds and is another run each time. Golden runs need a budget "
            "of work: --set budget.work=2000."
        )


def run_for(
    scenario: Scenario,
    out: Path,
    ticks: int,
    later: Sequence[int] = (),
    *,
    to_the_end: bool,
    threads: int = 1,
    granted: Mapping[int, int] | None = None,
    replays: Replay | None = None,
    progress: Callable[[Simulation], None] | None = None,
) -> Ran:
    """Run a scenario for a number of ticks and record it;
    then go on without recording for the digests of later ticks.

    Parameters
    ----------
    scenario : Scenario
    out : Path
    ticks : int
    later : sequence of int
        Ascending ticks after which the run digest is wanted.
    to_the_end : bool
        Stop where the scenario says that the run is over, if that is before; else step on as often as is
        said.
    threads, granted, replays : as for `Simulation`
    progress : callable, optional
        Called with the simulation before each tick.
    """
    digests: dict[int, str] = {}
    with Simulation(scenario, threads=threads, out=out, granted=granted, replays=replays) as run:
        assert run.recorder is not None

        def go_on(until: int) -> None:
            while run.tick < until and not (to_the_end and run.why_over()):
                if progress is not None:
                    progress(run)
                run.step()

        go_on(ticks)
        recorded, verdict = run.tick, run.verdict().as_dict()
        run.recorder.until = recorded
        for tick in later:
            go_on(tick)
            if run.tick > recorded:
                digests[run.tick] = run.digest
        run.finish()
    return Ran(recorded, verdict, digests)


def later_ticks(ticks: int, until: int) -> list[int]:
    """Return the ticks after the recorded ones of which a golden run keeps the digest."""
    return (
        [*range(ticks // LATER_EVERY * LATER_EVERY + LATER_EVERY, until, LATER_EVERY), until]
        if until > ticks
        else []
    )


def record_golden(
    scenario: Scenario,
    target: Path,
    *,
    seconds: float | None = None,
    until: float | None = None,
    threads: int = 1,
    progress: Callable[[Simulation], None] | None = None,
) -> Ran:
    """Write the golden recording of a scenario.

    Parameters
    ----------
    scenario : Scenario
    target : Path
        Must not exist.
    seconds : float, s, optional
        Simulated time of which everything is kept; without it the whole run.
    until : float, s, optional
        Simulated time until which the run goes on for the digests of later ticks.
    threads, progress : as for `run_for`

    Raises
    ------
    RecordingError
        If the file would be too large; the message says how large, and what helps.
    CrowdsimError
        If the run is another one each time, or no tick would be kept.
    """
    require_same_each_time(scenario, scenario.name)
    ticks = min(
        scenario.stop.ticks, scenario.stop.ticks if seconds is None else round(seconds / scenario.tick)
    )
    if ticks < 1:
        raise CrowdsimError(
            f"{scenario.name}: {seconds} s are less than a tick of {scenario.tick:g} s, so there is nothing "
            "to keep."
        )
    asked = 0 if until is None else min(scenario.stop.ticks, round(until / scenario.tick))
    # people may leave, though hardly all of them in the first second
    least = expected_bytes(scenario.agent_count * min(ticks, 1.0 / scenario.tick), ticks)
    if least > 2 * MOST_BYTES:
        raise _too_large(scenario, least, ticks, "at least about")
    with scratch_folder() as folder:
        raw = folder / "raw.h5"
        ran = run_for(
            golden_scenario(scenario),
            raw,
            ticks,
            later_ticks(ticks, asked),
            to_the_end=True,
            threads=threads,
            progress=progress,
        )
        pack_golden(raw, target, ran.verdict, ran.later)
    size = target.stat().st_size
    if size > MOST_BYTES:
        target.unlink()
        raise _too_large(scenario, size, ran.ticks, "")
    return ran


def _too_large(scenario: Scenario, size: int, ticks: int, about: str) -> RecordingError:
    agents, tick = scenario.agent_count, scenario.tick
    fitting = max(1, int(ticks * MOST_BYTES / size * 0.9))
    return RecordingError(
        (
            f"{scenario.name}: every column of {agents:,} agents in {ticks:,} ticks takes {about} "
            f"{size / 1e6:,.2f} MB"
        ).replace("  ", " ")
        + f", but a golden run has at most {MOST_BYTES / 1e6:,.2f} MB. Keep less time (about "
        f"{fitting * tick:.2g} s fit: --seconds {fitting * tick:.2g}), "
        "or bless a run with fewer agents (crowdsim run ... --set groups.0.count=20)."
    )


def check_golden(
    golden: Path, scenario: Scenario, *, tolerance: float | None = None, threads: int = 1
) -> str:
    """Run a scenario and compare it with its golden recording.

    Parameters
    ----------
    golden : Path
    scenario : Scenario
        As it is now; it may say the same in other words, or be another that results in the same.
    tolerance : float, m, optional
        Compare places instead of bits: nobody may be farther away than that in a recorded tick.
    threads : int

    Returns
    -------
    str
        How the run differs, in words; empty if it does not.
    """
    require_same_each_time(scenario, scenario.name)
    with scratch_folder() as folder, open_run(golden) as recorded:
        again, later = folder / "again.h5", later_digests(recorded) if tolerance is None else {}
        ran = run_for(
            golden_scenario(scenario),
            again,
            recorded.commit.last_tick,
            list(later),
            to_the_end=False,
            threads=threads,
        )
        with open_run(again) as fresh:
            found = (
                _by_places(recorded, fresh, tolerance)
                if tolerance is not None
                else difference(recorded, fresh, later, ran)
            )
        if not found:
            return ""
        return "\n".join(
            [
                str(found),
                *other_scenario(recorded.header.scenario, golden_scenario(scenario).canonical()),
                *other_versions(recorded),
            ]
        )


def difference(
    recorded: Recording,
    fresh: Recording,
    later: Mapping[int, str],
    ran: Ran,
    note: Callable[[str], None] = lambda _: None,
) -> Difference | None:
    """Return where a run parts from its recording, in what was recorded or in the digests of later ticks."""
    found = first_difference(recorded, fresh, note=note)
    before = ran.ticks
    for tick, digest in later.items() if found is None else ():
        if ran.later.get(tick) != digest:
            what = (
                f"the digest of the run is another one (recorded {digest}, now {ran.later.get(tick)}), but "
                f"was the same after tick {before:,}. Agents and "
                f"columns are kept until tick {ran.ticks:,} only: to see more, record the run with both "
                "versions (crowdsim run --trace) and compare them"
            )
            return Difference(tick, "", what)
        before = tick
    return found


def _by_places(recorded: Recording, fresh: Recording, tolerance: float) -> str:
    apart = compare_places(recorded, fresh, tolerance).apart
    if apart is None:
        return ""
    return (
        f"tick {apart.tick}: agent {apart.entity} is {apart.distance:.3g} m from where it was recorded, "
        f"more than {tolerance:g} m: "
        f"recorded {apart.places[0]}, now {apart.places[1]}"
    )


def other_scenario(then: str, now: str) -> list[str]:
    """Return what two scenarios in canonical text say otherwise, as lines for a person; empty if nothing."""
    old, new = (_leaves(yaml.safe_load(text)) for text in (then, now))
    keys = [key for key in {**old, **new} if key.split(".")[0] != "record" and old.get(key) != new.get(key)]
    shown = [f"{key} was {_short(old.get(key))}, is {_short(new.get(key))}" for key in keys[:3]]
    return (
        [
            (
                "the scenario is another one: "
                f"{'; '.join(shown)}{f'; and {len(keys) - 3:,} more' if len(keys) > 3 else ''}"
            )
        ]
        if keys
        else []
    )


def _leaves(value: Any, above: str = "") -> dict[str, Any]:
    """Return the scalars of a tree by their paths."""
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {
            path: leaf
            for key, item in items
            for path, leaf in _leaves(item, f"{above}.{key}" if above else str(key)).items()
        }
    return {above: value}


def _short(value: Any) -> str:
    text = "missing" if value is None else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def other_versions(recorded: Recording) -> list[str]:
    """Return which software has another version than when a run was recorded, as a line for a person;
    empty if none has.
    """
    now = software_versions()
    changed = [
        f"{name} {version} then, {now.get(name)} now"
        for name, version in recorded.header.versions.items()
        if version != now.get(name)
    ]
    return [f"versions differ: {'; '.join(changed)}"] if changed else []
