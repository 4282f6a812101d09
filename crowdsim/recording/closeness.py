"""Two recordings that need not be equal bit for bit: how far apart agents are, and what remains to be compared once crowds have diverged.

A crowd is chaotic: a difference in the last digit becomes one of a step within some ten seconds. Until then places can be compared; from then on only
what runs have in common on the whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import EventKind

COUNTS = ("arrived", "stuck", "no way")  # of aggregates: how often out of all agents


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


def compare_places(recorded: Recording, fresh: Recording, tolerance: float) -> Closeness:
    """Return the first frame in which an agent is farther than `tolerance` from where the other recording has it.

    Parameters
    ----------
    recorded, fresh : Recording
        Frames of the same tick are compared.
    tolerance : float, m

    Raises
    ------
    RecordingError
        If they have no frame of the same tick.
    """
    frame_ticks = [recording.table("frames/tick") for recording in (recorded, fresh)]
    common, *frames = np.intersect1d(frame_ticks[0], frame_ticks[1], assume_unique=True, return_indices=True)
    if len(common) == 0:
        raise RecordingError(f"{recorded.path} and {fresh.path} have no frame of the same tick, so there is nothing to compare.")
    starts = [recording.frame_starts() for recording in (recorded, fresh)]
    deepest = 0.0
    for tick, one, other in zip(common.tolist(), *(index.tolist() for index in frames), strict=True):
        rows = [
            recording.rows(int(start[frame]), int(start[frame + 1]), ["x", "y", "z"])
            for recording, start, frame in zip((recorded, fresh), starts, (one, other), strict=True)
        ]
        apart, distance = _apart(tick, rows[0], rows[1], tolerance)
        if apart is not None:
            return Closeness(tick, deepest, apart)
        deepest = max(deepest, distance)
    return Closeness(int(common[-1]), deepest, None)


def _apart(tick: int, one: dict[str, NDArray[np.float64]], other: dict[str, NDArray[np.float64]], tolerance: float) -> tuple[Apart | None, float]:
    lonely = np.setxor1d(one["id"], other["id"], assume_unique=True)
    places = [np.column_stack([rows[name] for name in "xyz"]) for rows in (one, other)]
    if len(lonely):
        entity = int(lonely[0])
        here = [_place_in(place, rows["id"] == entity) for place, rows in zip(places, (one, other), strict=True)]
        return Apart(tick, entity, math.inf, (here[0], here[1])), math.inf
    if not len(one["id"]):
        return None, 0.0
    distance = np.sqrt(((places[0] - places[1]) ** 2).sum(axis=1))
    row = int(distance.argmax())
    if distance[row] <= tolerance:
        return None, float(distance[row])
    chosen = np.arange(len(distance)) == row
    return Apart(tick, int(one["id"][row]), float(distance[row]), (_place_in(places[0], chosen), _place_in(places[1], chosen))), float(distance[row])


def _place_in(places: NDArray[np.float64], chosen: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Return the one chosen place, NaN where there is none."""
    x, y, z = places[chosen][0].tolist() if chosen.any() else (math.nan, math.nan, math.nan)
    return x, y, z


def aggregates(recording: Recording) -> dict[str, float]:
    """Return what a run resulted in on the whole, from its frames and events.

    Returns
    -------
    dict of str to float
        ``agents``; ``arrived``; ``mean arrival s`` and ``last arrival s`` (NaN where nobody arrived); ``mean speed m/s`` over all agents and frames;
        ``mean distance m`` walked by an agent that was recorded; ``stuck`` times that one was; ``no way`` times that there was none.
    """
    events, tick_s = recording.table("events"), recording.header.tick_s
    arrivals = events[events["kind"] == EventKind.ARRIVAL]
    seconds = arrivals["tick"] * tick_s
    walked, agent_seconds, people = _walked(recording)
    return {
        "agents": float(recording.commit.agents),
        "arrived": float(len(np.unique(arrivals["entity"]))),
        "mean arrival s": float(seconds.mean()) if len(seconds) else math.nan,
        "last arrival s": float(seconds.max()) if len(seconds) else math.nan,
        "mean speed m/s": walked / agent_seconds if agent_seconds else math.nan,
        "mean distance m": walked / people if people else math.nan,
        "stuck": float(np.count_nonzero(events["kind"] == EventKind.STUCK)),
        "no way": float(np.count_nonzero(events["kind"] == EventKind.UNREACHABLE)),
    }


def _walked(recording: Recording) -> tuple[float, float, int]:
    """Return the metres that all agents walked between recorded frames, the seconds that they took, and how many were seen."""
    starts, ticks = recording.frame_starts(), recording.table("frames/tick")
    metres = seconds = 0.0
    seen: set[int] = set()
    before: dict[str, NDArray[np.float64]] | None = None
    for frame in range(recording.commit.frames):
        rows = recording.rows(int(starts[frame]), int(starts[frame + 1]), ["x", "y", "z"])
        seen.update(rows["id"].tolist())
        if before is not None:
            _, one, other = np.intersect1d(before["id"], rows["id"], assume_unique=True, return_indices=True)
            metres += float(np.sqrt(sum((rows[name][other] - before[name][one]) ** 2 for name in "xyz")).sum())
            seconds += len(one) * float(ticks[frame] - ticks[frame - 1]) * recording.header.tick_s
        before = rows
    return metres, seconds, len(seen)
