"""Collisions and scores as SteerBench counts them ([Singh 2009])."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdsim.measures.contacts import LEAST_DEPTH_M, overlaps
from crowdsim.measures.motion import path_lengths
from crowdsim.measures.sources import Source, tracks_of
from crowdsim.measures.tracks import with_units

COLLISION_WEIGHT = 50.0  # What one collision counts as, in seconds on the way (SteerBench's composite techniques).
STEERBENCH_FPS = 20.0  # SteerBench adds up energies and accelerations frame by frame, of which it has so many a second.


def collisions(source: Source, *, deeper_than_m: float = LEAST_DEPTH_M, radius_m: float | None = None) -> pd.DataFrame:
    """Return how often each collided: once for each time that it and another began to overlap, until they were apart again.

    Parameters
    ----------
    source : path, Recording, or Tracks
    deeper_than_m : float, m
    radius_m : float, m, optional
        See `overlaps`.

    Returns
    -------
    DataFrame
        One row for each person that was seen: id, group, collisions, in_collision_s: time in them, of several at a time each counted (s); deepest_m (m;
        0 where there was none). A collision counts for both. Walls are not counted: agents of runs are kept out of them.
    """
    tracks = tracks_of(source)
    found = overlaps(tracks, deeper_than_m=deeper_than_m, radius_m=radius_m)
    both = pd.concat([found[[side, "duration_s", "deepest_m"]].rename(columns={side: "id"}) for side in ("first", "second")])
    each = both.groupby("id").agg(collisions=("duration_s", "size"), in_collision_s=("duration_s", "sum"), deepest_m=("deepest_m", "max"))
    each = each.reindex(tracks.seen).fillna(0.0)
    group = tracks.people.set_index("id")["group"].reindex(tracks.seen).to_numpy()
    table = pd.DataFrame({"id": tracks.seen, "group": group, "collisions": each["collisions"].to_numpy().astype(np.int64)})
    return with_units(table.assign(in_collision_s=each["in_collision_s"].to_numpy(), deepest_m=each["deepest_m"].to_numpy()))


def steering_scores(source: Source, *, deeper_than_m: float = LEAST_DEPTH_M, radius_m: float | None = None) -> pd.DataFrame:
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
        One row for each person that was seen: id, group, collisions; time_s: on the way, until it arrived or was last seen (s); energy: kinetic, of a mass
        of 1, summed over frames; acceleration: its amount, summed over frames; score: 50 for each collision + time + energy; score_2: the same +
        acceleration. Sums are those of SteerBench's 20 frames a second, whatever the recording's are; after an arrival nothing is added.
    """
    tracks = tracks_of(source)
    paths = path_lengths(tracks)
    hits = collisions(tracks, deeper_than_m=deeper_than_m, radius_m=radius_m)
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
    acceleration[turns] = np.sqrt(((velocity[turns] - velocity[turns - 1]) ** 2).sum(axis=1)) / (tracks.time_s[turns] - tracks.time_s[turns - 1])
    scale = STEERBENCH_FPS / tracks.fps
    sums = [scale * np.add.reduceat(values, tracks.starts[:-1]) if len(tracks) else np.zeros(0) for values in (energy, acceleration)]
    table = pd.DataFrame({"id": hits["id"], "group": hits["group"], "collisions": hits["collisions"], "time_s": paths["duration_s"], "energy": sums[0]})
    table["acceleration"] = sums[1]
    table["score"] = COLLISION_WEIGHT * table["collisions"] + table["time_s"] + table["energy"]
    table["score_2"] = table["score"] + table["acceleration"]
    return with_units(table)
