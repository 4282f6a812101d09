"""Where two recordings of one run part: the first tick, column, and if traced the system,
and the agents with both values.

What is compared, in this order: the digests of all columns after every tick; what happened; the trace; every
recorded number; the facts in header and verdict. Clock readings are not.

Where they need not be equal bit for bit: how far apart agents are, and what remains to be compared once
crowds have diverged.

A crowd is chaotic: a difference in the last digit becomes one of a step within some ten seconds. Until then
places can be compared; from then on only what runs have in common on the whole.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.recording.compare_rows import (
    NAMES,
    Difference,
    Names,
    Note,
    ValueDifference,
    first_row,
    with_values,
)
from crowdsim.recording.compare_trace import first_trace_difference, with_trace
from crowdsim.recording.reader import BLOCK_ROWS, Recording
from crowdsim.recording.schema import EventKind, RunState, digest_text

__all__ = ["Difference", "ValueDifference", "compare_digests", "first_difference"]


def compare_digests(recorded: Recording, fresh: Recording, names: Names = NAMES) -> Difference | None:
    """Return the first tick and column whose digests differ, or None if all ticks that both recordings have
    are equal.

    Raises
    ------
    RecordingError
        If the recordings have no digests of the same columns.
    """
    columns = [name for name in recorded.layout.digests if name in fresh.layout.digests]
    if not columns:
        raise RecordingError(
            f"{recorded.path} and {fresh.path} have no digests of the same columns, so there is nothing to "
            "compare."
        )
    count = min(recorded.commit.ticks, fresh.commit.ticks)
    ticks = [recording.table("ticks", 0, count)["tick"] for recording in (recorded, fresh)]
    tables = []
    for recording in (recorded, fresh):
        order = [recording.layout.digests.index(name) for name in columns]
        tables.append(recording.table("digests", 0, count)[:, order])
    differs = tables[0] != tables[1]
    rows = np.flatnonzero(differs.any(axis=1) | (ticks[0] != ticks[1]))
    if len(rows) == 0:
        return None
    row = int(rows[0])
    tick = int(ticks[0][row])
    if tick != ticks[1][row]:
        return Difference(
            tick,
            "",
            f"row {row} of ticks: {names[0]} tick {tick}, {names[1]} tick {int(ticks[1][row])}",
            names=names,
        )
    at = int(np.flatnonzero(differs[row])[0])
    one, other = int(tables[0][row, at]), int(tables[1][row, at])
    different = ", ".join(name for name, differ in zip(columns, differs[row], strict=True) if differ)
    what = (
        f"{different} differ (digest of {columns[at]}: {names[0]} {digest_text(one)}, {names[1]} "
        f"{digest_text(other)})"
    )
    return Difference(tick, columns[at], what, one, other, names=names)


def first_difference(
    recorded: Recording,
    fresh: Recording,
    names: Names = NAMES,
    *,
    scenarios: bool = False,
    note: Note = lambda _: None,
) -> Difference | None:
    """Return where a run parts from its recording, or None if they are the same.

    Clock readings are not compared. Of two runs that both came to their end the lengths must be equal; one
    that was interrupted or cut off is compared as far as it goes.

    Parameters
    ----------
    recorded, fresh : Recording
        Both opened from files.
    names : tuple of two str
        How a difference calls them.
    scenarios : bool
        The texts of the scenarios count too, but for what they say of recording.
    note : callable
        Gets what goes on, as words.

    Returns
    -------
    Difference or None

    Raises
    ------
    RecordingError
        If they have nothing in common that could be compared, or one is damaged.
    """
    is_cut = bool(recorded.header.cut or fresh.header.cut)  # a part has no digests: those are of whole worlds
    digests = None if is_cut else compare_digests(recorded, fresh, names)
    event = first_event(recorded, fresh, names)
    found = _earliest(digests, event)  # of one tick the digests
    before = min(recorded.commit.last_tick, fresh.commit.last_tick) if found is None else found.tick - 1
    if found is not None and found.column:
        found = with_values(recorded, fresh, with_trace(recorded, fresh, found))
    traced = first_trace_difference(recorded, fresh, before, names)
    if traced is not None:
        consequence = (
            "every digested column is the same at the end of every tick"
            if found is None
            else f"what is digested at the end of a tick differs from tick {found.tick} on: {found.what}"
        )
        traced = with_values(recorded, fresh, replace(traced, what=f"{traced.what}; {consequence}"))
    earliest = _earliest(
        first_intervention(recorded, fresh, names),
        traced,
        first_row(recorded, fresh, before, names, note),
        found,
        _other_end(recorded, fresh, names),
    )
    return earliest or first_fact(recorded, fresh, names, scenarios=scenarios)


def _earliest(*found: Difference | None) -> Difference | None:
    """Return the difference of the first tick, of several the first given."""
    return min((each for each in found if each is not None), key=lambda each: each.tick, default=None)


def _other_end(recorded: Recording, fresh: Recording, names: Names) -> Difference | None:
    """Return that two finished runs have different lengths, if they have."""
    one, other = recorded.commit.last_tick, fresh.commit.last_tick
    if one == other or recorded.state is not RunState.FINISHED or fresh.state is not RunState.FINISHED:
        return None
    return Difference(
        min(one, other) + 1, "", f"the last tick is {one} ({names[0]}) and {other} ({names[1]})", names=names
    )


def first_event(recorded: Recording, fresh: Recording, names: Names = NAMES) -> Difference | None:
    """Return the first event in which two recordings differ within the ticks that both have."""
    last = min(recorded.commit.last_tick, fresh.commit.last_tick)
    both = (recorded, fresh)
    counts = [recording.first_from("events", last + 1) for recording in both]
    row = min(counts)
    for start in range(0, row, BLOCK_ROWS):
        tables = [recording.table("events", start, min(start + BLOCK_ROWS, row)) for recording in both]
        differing = np.flatnonzero(tables[0].view("V48") != tables[1].view("V48"))
        if len(differing):
            row = start + int(differing[0])
            break
    else:
        if counts[0] == counts[1]:
            return None
    found = [
        recording.table("events", row, row + 1)[0] if row < count else None
        for recording, count in zip(both, counts, strict=True)
    ]
    texts = ["none" if event is None else str(event) for event in found]
    tick = min(int(event["tick"]) for event in found if event is not None)
    return Difference(
        tick,
        "",
        f"event {row}: {names[0]} {texts[0]}, {names[1]} {texts[1]} (tick, entity, kind, value, x, y)",
        names=names,
    )


def first_intervention(recorded: Recording, fresh: Recording, names: Names = NAMES) -> Difference | None:
    """Return the first thing that a program did to one run and not to the other, within the ticks that both
    have.
    """
    last = min(recorded.commit.last_tick, fresh.commit.last_tick)
    pairs = itertools.zip_longest(recorded.interventions(), fresh.interventions())
    for number, pair in enumerate(pairs):
        if all(each is None or each.tick >= last for each in pair):
            return None
        if None in pair or pair[0].line() != pair[1].line():
            tick = min(each.tick for each in pair if each is not None)
            texts = ["none" if each is None else f"{each} after tick {each.tick:,}" for each in pair]
            what = f"intervention {number:,} of a program: {names[0]} {texts[0]}, {names[1]} {texts[1]}"
            return Difference(tick, "", what, names=names)
    return None


_HEADER = ("name", "seed", "tick_s", "ground", "layers", "groups", "goals", "reproducible", "first_tick")
_CLOCK = ("wall_s", "ms_per_tick", "worst_tick_ms")  # of a verdict


def first_fact(recorded: Recording, fresh: Recording, names: Names, *, scenarios: bool) -> Difference | None:
    """Return the first fact of header or verdict that differs, or None;
    clock readings, versions and what is recorded how often are no such facts.

    Parameters
    ----------
    recorded, fresh : Recording
        Of runs that are equal in every tick that both have.
    names : tuple of two str
    scenarios : bool
        Compare the texts of the scenarios too, but for their section ``record``.
    """
    facts = [_facts(recording, scenarios) for recording in (recorded, fresh)]
    if recorded.state is RunState.FINISHED and fresh.state is RunState.FINISHED:
        for fact, recording in zip(facts, (recorded, fresh), strict=True):
            result = (recording.verdict or {}).get("result")
            fact.update(
                {
                    f"verdict: {key}": value
                    for key, value in _flat(result if isinstance(result, Mapping) else {}).items()
                }
            )
    if recorded.commit.last_tick == fresh.commit.last_tick:
        for fact, recording in zip(facts, (recorded, fresh), strict=True):
            fact["run digest"] = digest_text(recording.run_digest)
    for key in facts[0]:
        if key in facts[1] and repr(facts[0][key]) != repr(facts[1][key]):  # of floats every digit
            one, other = _shown(facts[0][key], facts[1][key])
            what = (
                f"the same in every tick, but not in what they say of themselves: {key}: {names[0]} {one}, "
                f"{names[1]} {other}"
            )
            return Difference(0, "", what, names=names)
    return None


def _facts(recording: Recording, scenarios: bool) -> dict[str, Any]:
    header = recording.header
    found = {f"header: {name}": getattr(header, name) for name in _HEADER}
    found |= {f"header: parameters: {name}": value for name, value in _flat(header.parameters).items()}
    if recording.verdict is not None and "run_digest" in recording.verdict:
        found["run digest in the verdict"] = recording.verdict["run_digest"] == digest_text(
            recording.run_digest
        )
    if scenarios:
        # without the last section of the canonical text, which says what is recorded
        lines = header.scenario.partition("\nrecord:")[0].splitlines()
        found |= {f"scenario: line {number}": line for number, line in enumerate(lines, start=1)}
    return found


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in values.items() if key not in _CLOCK}


def _shown(one: Any, other: Any) -> tuple[str, str]:
    """Return two values as text, from a little before where they part, if they are long."""
    texts = repr(one), repr(other)
    at = next(
        (place for place, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts))
    )
    begin = max(0, at - 20)
    first, second = (
        ("..." if begin else "") + text[begin : begin + 60] + ("..." if len(text) > begin + 60 else "")
        for text in texts
    )
    return first, second


COUNTS = ("arrived", "stuck", "no path")  # of aggregates: how often out of all agents


@dataclass(frozen=True)
class Apart:
    """The first frame in which an agent is not where the other recording has it.

    Attributes
    ----------
    tick : int
    entity : int
        The one that is farthest away, or the first that is in one recording only.
    distance : float, m
        Infinite for one that is in one recording only.
    places : tuple of two (x, y, z), m
        NaN where there is none.
    """

    tick: int
    entity: int
    distance: float
    places: tuple[tuple[float, float, float], tuple[float, float, float]]


@dataclass(frozen=True)
class Closeness:
    """How near two recordings are to each other.

    Attributes
    ----------
    ticks : int
        The last tick that was compared, of a frame that both have.
    deepest : float, m
        The largest distance between an agent's two places before they came apart.
    apart : Apart or None
    """

    ticks: int
    deepest: float
    apart: Apart | None


def compare_places(
    recorded: Recording, fresh: Recording, tolerance: float, note: Note = lambda _: None
) -> Closeness:
    """Return the first frame in which an agent is farther than `tolerance` from where the other recording has
    it.

    Parameters
    ----------
    recorded, fresh : Recording
        Frames of the same tick are compared.
    tolerance : float, m
    note : callable
        Gets what goes on, as words.

    Raises
    ------
    RecordingError
        If they have no frame of the same tick.
    """
    frame_ticks = [recording.table("frames/tick") for recording in (recorded, fresh)]
    common, *frames = np.intersect1d(frame_ticks[0], frame_ticks[1], assume_unique=True, return_indices=True)
    if len(common) == 0:
        raise RecordingError(
            f"{recorded.path} and {fresh.path} have no frame of the same tick, so there is nothing to "
            "compare."
        )
    deepest = 0.0
    for tick, one, other in zip(common.tolist(), *(index.tolist() for index in frames), strict=True):
        note(f"comparing places: tick {tick:,} of {common[-1]:,}")
        rows = [
            recording.frame_rows(frame, ["x", "y", "z"])
            for recording, frame in ((recorded, one), (fresh, other))
        ]
        apart = _farthest(tick, rows[0], rows[1])
        if not apart.distance <= tolerance:  # a place that is no number is farther, too
            return Closeness(tick, deepest, apart)
        deepest = max(deepest, apart.distance)
    return Closeness(int(common[-1]), deepest, None)


def _farthest(tick: int, one: dict[str, NDArray[np.float64]], other: dict[str, NDArray[np.float64]]) -> Apart:
    """Return the agent that is farthest from its other place; 0 m where nobody is in a frame."""
    lonely = np.setxor1d(one["id"], other["id"], assume_unique=True)
    places = [np.column_stack([rows[name] for name in "xyz"]) for rows in (one, other)]
    entity, distance = 0, 0.0
    if len(lonely):
        entity, distance = int(lonely[0]), math.inf
    elif len(one["id"]):
        apart = np.sqrt(((places[0] - places[1]) ** 2).sum(axis=1))
        row = int(apart.argmax())
        entity, distance = int(one["id"][row]), float(apart[row])
    here = _place_in(places[0], one["id"] == entity)
    return Apart(tick, entity, distance, (here, _place_in(places[1], other["id"] == entity)))


def _place_in(places: NDArray[np.float64], chosen: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Return the one chosen place, NaN where there is none."""
    x, y, z = places[chosen][0].tolist() if chosen.any() else (math.nan, math.nan, math.nan)
    return x, y, z


def aggregates(recording: Recording, note: Note = lambda _: None) -> dict[str, float]:
    """Return what a run resulted in on the whole, from its frames and events.

    Parameters
    ----------
    recording : Recording
    note : callable
        Gets what goes on, as words.

    Returns
    -------
    dict of str to float
        ``agents``; ``arrived``; ``mean arrival s`` and ``last arrival s`` (NaN where nobody arrived);
        ``mean speed m/s`` over all agents and frames; ``mean distance m`` walked by an agent that was
        recorded; ``stuck`` times that one was; ``no path`` times that there was none.
    """
    counts, parts = {EventKind.STUCK: 0, EventKind.UNREACHABLE: 0}, [recording.table("events", 0, 0)]
    for start in range(0, recording.commit.events, BLOCK_ROWS):
        events = recording.table("events", start, start + BLOCK_ROWS)
        parts.append(events[events["kind"] == EventKind.ARRIVAL])
        for kind in counts:
            counts[kind] += int(np.count_nonzero(events["kind"] == kind))
    arrivals = np.concatenate(parts)
    seconds = arrivals["tick"] * recording.header.tick_s
    walked, agent_seconds, people = _walked(recording, note)
    return {
        "agents": float(recording.commit.agents),
        "arrived": float(len(np.unique(arrivals["entity"]))),
        "mean arrival s": float(seconds.mean()) if len(seconds) else math.nan,
        "last arrival s": float(seconds.max()) if len(seconds) else math.nan,
        "mean speed m/s": walked / agent_seconds if agent_seconds else math.nan,
        "mean distance m": walked / people if people else math.nan,
        "stuck": float(counts[EventKind.STUCK]),
        "no path": float(counts[EventKind.UNREACHABLE]),
    }


def _walked(recording: Recording, note: Note) -> tuple[float, float, int]:
    """Return the metres that all agents walked between recorded frames, the seconds that they took,
    and how many were seen.
    """
    ticks, frames = recording.table("frames/tick"), recording.commit.frames
    metres = seconds = 0.0
    known = np.sort(recording.table("roster")["entity"])
    seen = np.zeros(len(known), dtype=np.bool_)
    before: dict[str, NDArray[np.float64]] | None = None
    for frame in range(frames):
        note(f"adding up: {frame + 1:,} of {frames:,} frames")
        rows = recording.frame_rows(frame, ["x", "y", "z"])
        seen[np.searchsorted(known, rows["id"])] = True
        if before is not None:
            _, one, other = np.intersect1d(before["id"], rows["id"], assume_unique=True, return_indices=True)
            metres += float(
                np.sqrt(sum((rows[name][other] - before[name][one]) ** 2 for name in "xyz")).sum()
            )
            seconds += len(one) * float(ticks[frame] - ticks[frame - 1]) * recording.header.tick_s
        before = rows
    return metres, seconds, int(seen.sum())
