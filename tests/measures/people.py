"""Recordings made by hand: tracks whose measures a reader can check with a pencil."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from crowdsim.measures.tracks import EVENT_COLUMNS, Tracks, make_tracks, people_table
from crowdsim.recording.header import Header


def tracks(
    paths: Mapping[int, Sequence[tuple[float, ...]]],
    *,
    fps: float = 10.0,
    first: Mapping[int, int] | None = None,
    **known: Any,
) -> Tracks:
    """Return tracks of people that are at the given (x, y) or (x, y, z) in one frame after the other;
    `None` in between is a frame in which one is not seen.

    Parameters
    ----------
    paths : places by id
    fps : float
    first : first frame by id, default 0
    **known : radius_m, desired_speed_m_s, group, start_s
        Of `people`, one value for all or one for each.
    """
    rows = [
        (person, (first or {}).get(person, 0) + number, *place, *([0.0] * (3 - len(place))))
        for person, places in paths.items()
        for number, place in enumerate(places)
        if place is not None
    ]
    person, frame, x, y, z = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    known.setdefault("radius_m", 0.2)
    people = people_table(np.array(sorted(paths), dtype=np.int64), **known)
    return make_tracks(
        "by hand", fps, person.astype(np.int64), frame.astype(np.int64), x, y, z, people=people
    )


def straight(
    start: tuple[float, float], velocity: tuple[float, float], frames: int, fps: float = 10.0
) -> list[tuple[float, float]]:
    """Return the places of an agent that walks straight on."""
    return [(start[0] + velocity[0] * k / fps, start[1] + velocity[1] * k / fps) for k in range(frames)]


def with_events(
    given: Tracks,
    *rows: tuple[float, int, str, int, float, float],
    goals: Sequence[str] = ("out",),
    scenario: str = "",
) -> Tracks:
    """Return tracks of a recorded run in which something happened:
    rows of time_s, id, kind, value, x_m, y_m.
    """
    events = pd.DataFrame(list(rows), columns=list(EVENT_COLUMNS))
    return replace(
        given,
        events=events,
        header=Header(name="by hand", scenario=scenario, seed=1, tick_s=0.05, goals=tuple(goals)),
    )


def random_crowd(
    seed: int, people: int = 12, frames: int = 40, fps: float = 10.0, size: float = 3.0
) -> Tracks:
    """Return people that wander about in a square, some of which come late or leave early."""
    rng = np.random.default_rng(seed)
    paths, first = {}, {}
    for person in range(1, people + 1):
        steps = rng.normal(0.0, 1.2 / fps, (frames, 2)).cumsum(axis=0)
        places = np.abs((rng.uniform(0, size, 2) + steps + size) % (2 * size) - size)
        first[person] = int(rng.integers(0, 5))
        paths[person] = [tuple(place) for place in places[: int(rng.integers(frames // 2, frames))].tolist()]
    return tracks(paths, fps=fps, first=first, radius_m=rng.uniform(0.15, 0.35, people))


def moved(
    given: Tracks, matrix: Sequence[Sequence[float]], shift: tuple[float, float] = (0.0, 0.0)
) -> Tracks:
    """Return the same people on a plan that was turned, mirrored and shifted."""
    (a, b), (c, d) = matrix
    return replace(given, x=a * given.x + b * given.y + shift[0], y=c * given.x + d * given.y + shift[1])


def renamed(given: Tracks, seed: int = 1) -> tuple[Tracks, dict[int, int]]:
    """Return the same people under other ids and with rows in another order, and the new id of each."""
    rng = np.random.default_rng(seed)
    old = given.people["id"].to_numpy()
    new = dict(zip(old.tolist(), (100 + rng.permutation(len(old))).tolist(), strict=True))
    order = rng.permutation(len(given))
    people = given.people.assign(id=given.people["id"].map(new)).sort_values("id", ignore_index=True)
    person = np.array([new[each] for each in given.person.tolist()])
    made = make_tracks(
        given.name,
        given.fps,
        person[order],
        given.frame[order],
        given.x[order],
        given.y[order],
        given.z[order],
        people=people,
    )
    return made, new
