"""Overlaps: which pairs, how deep, since when and how long;
and collisions and scores as SteerBench counts them ([Singh 2009]).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crowdsim.geometry.floor_plans import CLEARANCE_M
from crowdsim.measures.motion import path_lengths_in
from crowdsim.measures.sources import LongRun, Source, facts_of, joined, of_each_person, run_of
from crowdsim.measures.tracks import Tracks, stable_order, with_units

# 0.1 mm: agents that were pushed apart touch, and rounding lets them be deeper by less. Larger hides real
# contacts.
LEAST_DEPTH_M = 1e-4
# Rows whose pairs are looked for at once: some 100 MB where people stand densely. Smaller pays for more
# calls.
_BLOCK_ROWS = 1 << 18
_Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def overlaps(
    source: Source, *, deeper_than_m: float = LEAST_DEPTH_M, radius_m: float | None = None
) -> pd.DataFrame:
    """Return every time that two people overlapped, from the frame in which they came together to the one in
    which they were apart again.

    Parameters
    ----------
    source : path, Recording, or Tracks
    deeper_than_m : float, m
        Two overlap where their centres are nearer to each other in plan than the sum of their radii by more
        than this, on the same storey.
    radius_m : float, m, optional
        Of people whose radius is not known.

    Returns
    -------
    DataFrame
        first, second: ids, first < second; begin_s (s); duration_s (s): frames in which they overlapped, each
        of which stands for the time until the next; deepest_m (m); x_m, y_m: where they were deepest, in the
        middle of the two centres (m). Ascending by begin, then ids. What came and went between two frames is
        not seen.

    Raises
    ------
    RecordingError
        If a person's radius is not known.
    """
    with run_of(source) as run:
        found = Spells(run, deeper_than_m, radius_m)
        for tracks in run.by_frames() if isinstance(run, LongRun) else (run,):
            found.take(tracks)
        return found.table()


class Spells:
    """The overlaps of a run, from the tracks of some of its frames after each other.

    Parameters
    ----------
    run : Tracks or LongRun
    deeper_than_m, radius_m : float, m
        See `overlaps`.
    """

    def __init__(self, run: Tracks | LongRun, deeper_than_m: float, radius_m: float | None) -> None:
        self._fps = facts_of(run).fps
        self._about = deeper_than_m, radius_m
        self._over: list[pd.DataFrame] = []
        self._last: pd.DataFrame | None = None  # those in the last frame, which may go on

    def take(self, tracks: Tracks) -> None:
        """Add those in the frames that follow."""
        found = _overlaps_in(tracks, *self._about)
        if self._last is not None:
            found = _joined(pd.concat([self._last, found]))
        goes_on = (found["end"] == tracks.first_frame + len(tracks.frame_s)).to_numpy()
        self._over.append(found[~goes_on])
        self._last = found[goes_on]

    def table(self) -> pd.DataFrame:
        """Return all of them; see `overlaps`."""
        parts = [*self._over, *([] if self._last is None else [self._last])]
        table = joined(parts).assign(duration_s=lambda rows: rows["frames"] / self._fps)
        columns = ["first", "second", "begin_s", "duration_s", "deepest_m", "x_m", "y_m"]
        return with_units(table[columns].sort_values(["begin_s", "first", "second"], ignore_index=True))


def _overlaps_in(tracks: Tracks, deeper_than_m: float, radius_m: float | None) -> pd.DataFrame:
    """Return the overlaps in tracks as `_joined` has them."""
    one, other, depth = _concatenated(
        list(overlapping_rows(tracks, tracks.radius_m(radius_m), deeper_than_m))
    )
    pairs = np.sort(np.stack([tracks.person[one], tracks.person[other]]), axis=0)
    frame = tracks.frame[one]
    return _joined(
        pd.DataFrame(
            {
                "first": pairs[0],
                "second": pairs[1],
                "begin": frame,
                "end": frame + 1,
                "frames": np.ones(len(frame), dtype=np.int64),
                "begin_s": tracks.time_s[one],
                "deepest_m": depth,
                "x_m": 0.5 * (tracks.x[one] + tracks.x[other]),
                "y_m": 0.5 * (tracks.y[one] + tracks.y[other]),
            }
        )
    )


def _joined(spells: pd.DataFrame) -> pd.DataFrame:
    """Return spells of two people, of whole frames, as one where the next begins with the frame in which the
    one before ends: first, second; begin, end: its first frame and the one behind its last; frames; begin_s;
    deepest_m, x_m, y_m: where they were deepest.
    """
    spells = spells.sort_values(["first", "second", "begin"], ignore_index=True)
    follows = (
        (spells["first"].diff() == 0)
        & (spells["second"].diff() == 0)
        & (spells["begin"] == spells["end"].shift())
    ).to_numpy()
    begins, ends = np.flatnonzero(~follows), np.flatnonzero(~np.append(follows[1:], False))[: len(spells)]
    spell = np.cumsum(~follows) - 1
    # the deepest of each; the earliest of equals
    deepest = np.lexsort((spells["begin"], -spells["deepest_m"], spell))[begins]
    first = spells.iloc[begins].reset_index(drop=True)
    at = spells.iloc[deepest].reset_index(drop=True)
    return first.assign(
        end=spells["end"].to_numpy()[ends],
        frames=np.bincount(spell, weights=spells["frames"], minlength=len(begins)).astype(np.int64),
        deepest_m=at["deepest_m"],
        x_m=at["x_m"],
        y_m=at["y_m"],
    )


def overlapping_rows(tracks: Tracks, radius: NDArray[np.float64], deeper_than_m: float) -> Iterator[_Pairs]:
    """Yield pairs of rows in the same frame that overlap, and how deep, block by block of frames.

    Parameters
    ----------
    tracks : Tracks
    radius : (n,) float64, m
    deeper_than_m : float, m

    Yields
    ------
    one, other : (k,) int64
    depth : (k,) float64, m
    """
    if not len(tracks):
        return
    by_frame = stable_order(tracks.frame)
    starts = np.searchsorted(tracks.frame[by_frame], np.arange(len(tracks.frame_s) + 1) + tracks.first_frame)
    size = max(2.0 * float(radius.max()), 1e-3)
    begin = 0
    while begin < len(starts) - 1:
        end = max(begin + 1, int(np.searchsorted(starts, starts[begin] + _BLOCK_ROWS, side="right")) - 1)
        rows = by_frame[starts[begin] : starts[end]]
        if len(rows):
            yield _pairs_in(tracks, radius, rows, size, deeper_than_m)
        begin = end


def _pairs_in(
    tracks: Tracks, radius: NDArray[np.float64], rows: NDArray[np.int64], size: float, deeper_than_m: float
) -> _Pairs:
    """Return the overlapping pairs among some rows."""
    frame = tracks.frame[rows] - tracks.frame[rows].min()
    one, other, depth = touching(
        tracks.x[rows], tracks.y[rows], tracks.z[rows], radius[rows], deeper_than_m, size=size, frame=frame
    )
    return rows[one], rows[other], depth


def touching(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    z: NDArray[np.float64],
    radius: NDArray[np.float64],
    deeper_than_m: float,
    *,
    size: float,
    frame: NDArray[np.int64] | None = None,
) -> _Pairs:
    """Return which discs overlap, and how deep:
    each is held against those behind it in its cell and in the four cells that follow.

    Parameters
    ----------
    x, y, z, radius : (n,) float64, m
        At least one; z is the height of the ground.
    deeper_than_m : float, m
    size : float, m, > 0
        Width of a cell: at least twice the greatest radius.
    frame : (n,) int64, optional
        From 0 on; discs of different frames do not meet. Without it all are of one.

    Returns
    -------
    one, other : (k,) int64
        Indices of the two.
    depth : (k,) float64, m
    """
    column = np.floor((x - x.min()) / size).astype(np.int64) + 1
    row = np.floor((y - y.min()) / size).astype(np.int64) + 1
    width, height = int(column.max()) + 2, int(row.max()) + 2
    key = ((0 if frame is None else frame * height) + row) * width + column
    order = np.argsort(key, kind="stable")
    key, x, y, z, radius = key[order], x[order], y[order], z[order], radius[order]
    place = np.arange(len(key))
    # from a place, until the end of a cell
    here, above = (place + 1, key + 1), (np.searchsorted(key, key + width - 1), key + width + 1)
    spans = [(start, np.searchsorted(key, last, side="right")) for start, last in (here, above)]
    found: list[_Pairs] = []
    for start, stop in spans:
        count = np.maximum(0, stop - start)
        one = np.repeat(place, count)
        other = np.arange(len(one)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(start, count)
        depth = radius[one] + radius[other] - np.hypot(x[one] - x[other], y[one] - y[other])
        touch = (depth > deeper_than_m) & (np.abs(z[one] - z[other]) < CLEARANCE_M)
        found.append((order[one[touch]], order[other[touch]], depth[touch]))
    return _concatenated(found)


def _concatenated(parts: list[_Pairs]) -> _Pairs:
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    one, other, depth = zip(*parts, strict=True)
    return np.concatenate(one), np.concatenate(other), np.concatenate(depth)


# What one collision counts as, in seconds on the way (SteerBench's composite techniques).
COLLISION_WEIGHT = 50.0
# SteerBench adds up energies and accelerations frame by frame, of which it has so many a second.
STEERBENCH_FPS = 20.0


def collisions(
    source: Source, *, deeper_than_m: float = LEAST_DEPTH_M, radius_m: float | None = None
) -> pd.DataFrame:
    """Return how often each collided: once for each time that it and another began to overlap,
    until they were apart again.

    Parameters
    ----------
    source : path, Recording, or Tracks
    deeper_than_m : float, m
    radius_m : float, m, optional
        See `overlaps`.

    Returns
    -------
    DataFrame
        One row for each person that was seen: id, group, collisions, in_collision_s: time in them, of several
        at a time each counted (s); deepest_m (m; 0 where there was none). A collision counts for both. Walls
        are not counted: agents of runs are kept out of them.
    """
    with run_of(source) as run:
        each = collisions_of(overlaps(run, deeper_than_m=deeper_than_m, radius_m=radius_m))
        return of_each_person(run, lambda tracks: _collisions(tracks, each))


def collisions_of(found: pd.DataFrame) -> pd.DataFrame:
    """Return the collisions in a table of `overlaps`, by the id of each that had some."""
    both = pd.concat(
        [
            found[[side, "duration_s", "deepest_m"]].rename(columns={side: "id"})
            for side in ("first", "second")
        ]
    )
    return both.groupby("id").agg(
        collisions=("duration_s", "size"),
        in_collision_s=("duration_s", "sum"),
        deepest_m=("deepest_m", "max"),
    )


def _collisions(tracks: Tracks, each: pd.DataFrame) -> pd.DataFrame:
    each = each.reindex(tracks.seen).fillna(0.0)
    group = tracks.people.set_index("id")["group"].reindex(tracks.seen).to_numpy()
    columns = {
        "id": tracks.seen,
        "group": group,
        "collisions": each["collisions"].to_numpy().astype(np.int64),
        "in_collision_s": each["in_collision_s"].to_numpy(),
        "deepest_m": each["deepest_m"].to_numpy(),
    }
    return with_units(pd.DataFrame(columns))


def steering_scores(
    source: Source, *, deeper_than_m: float = LEAST_DEPTH_M, radius_m: float | None = None
) -> pd.DataFrame:
    """Return each one's score in SteerBench's benchmark; less is better.

    Parameters
    ----------
    source : path, Recording, or Tracks
    deeper_than_m : float, m
    radius_m : float, m, optional
        See `overlaps`.

    Returns
    -------
    DataFrame
        One row for each person that was seen: id, group, collisions; time_s: on the way, until it arrived or
        was last seen (s); energy: kinetic, of a mass of 1, summed over frames; acceleration: its amount,
        summed over frames; score: 50 for each collision + time + energy; score_2: the same + acceleration.
        Sums are those of SteerBench's 20 frames a second, whatever the recording's are; after an arrival
        nothing is added.
    """
    with run_of(source) as run:
        each = collisions_of(overlaps(run, deeper_than_m=deeper_than_m, radius_m=radius_m))
        return of_each_person(run, lambda tracks: steering_scores_in(tracks, path_lengths_in(tracks), each))


def steering_scores_in(tracks: Tracks, paths: pd.DataFrame, each: pd.DataFrame) -> pd.DataFrame:
    """Return `steering_scores` of tracks, from their `path_lengths` and what `collisions_of` returns."""
    hits = _collisions(tracks, each)
    until = np.repeat(paths["end_s"].to_numpy(), np.diff(tracks.starts))
    is_step = tracks.follows & (tracks.time_s <= until)
    steps = np.flatnonzero(is_step)
    velocity = np.zeros((len(tracks), 3))
    took = tracks.time_s[steps] - tracks.time_s[steps - 1]
    for axis, values in enumerate((tracks.x, tracks.y, tracks.z)):
        velocity[steps, axis] = (values[steps] - values[steps - 1]) / took
    energy = 0.5 * (velocity**2).sum(axis=1)
    turns = steps[is_step[steps - 1]]
    acceleration = np.zeros(len(tracks))
    acceleration[turns] = np.sqrt(((velocity[turns] - velocity[turns - 1]) ** 2).sum(axis=1)) / (
        tracks.time_s[turns] - tracks.time_s[turns - 1]
    )
    scale = STEERBENCH_FPS / tracks.fps
    sums = [
        scale * np.add.reduceat(values, tracks.starts[:-1]) if len(tracks) else np.zeros(0)
        for values in (energy, acceleration)
    ]
    table = pd.DataFrame(
        {
            "id": hits["id"],
            "group": hits["group"],
            "collisions": hits["collisions"],
            "time_s": paths["duration_s"],
            "energy": sums[0],
            "acceleration": sums[1],
        }
    )
    table["score"] = COLLISION_WEIGHT * table["collisions"] + table["time_s"] + table["energy"]
    table["score_2"] = table["score"] + table["acceleration"]
    return with_units(table)
