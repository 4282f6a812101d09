"""Which people made no progress, from where people were alone:
for measured people, and as a check of recorded runs from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.measures.deadlock_stuck import STUCK_SECONDS, has_no_progress
from crowdsim.measures.sources import Source, facts_of, of_each_place, run_of
from crowdsim.measures.tracks import Tracks, with_units
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked

# Speed of people where none is known: fast enough that all of `PROGRESS_M` is required of them.
FAST_M_S = 1.0
# Places on the rim of the ground are moved in by so much, so that they are in a polygon of the mesh.
_RIM_M = 1e-4


def stuck_by_place(source: Source, *, goal: Any = None, ground: Any = None) -> pd.DataFrame:
    """Return which people were stuck by where they were:
    progress is that the shortest path over the ground to the goal becomes shorter than it ever was.

    Parameters
    ----------
    source : path, Recording, or Tracks
        Of a recorded run or of measured people.
    goal : shapely geometry, or mapping of int to shapely geometry, optional
        Where all, or each by its id, want to go: an area counts as reached at its rim. Without it, and for
        those that are not in the mapping, the place where each was seen last: one that went out of sight went
        there, and one still there at the end was blocked there, or wanted to be.
    ground : shapely Polygon or MultiPolygon, optional
        Default: that of the tracks. Where there is none, paths are as the crow flies. Made smaller by the
        radius of the agents (``shapely.buffer(ground, -radius)``) it gives lengths for an agent, as in a run:
        beside a narrow door a point has up to 0.3 m less to go than an agent of 0.2 m, so that the two do not
        say the same of people that are pushed to and fro there.

    Returns
    -------
    DataFrame
        One row for each person and second: id, time_s (s), remaining_m: length of that path for a point, NaN
        where there is none (m); progress_m: by how much the least of it so far has fallen (m); is_stuck: that
        has grown by less than 0.2 m in ten seconds, and not by what it does in two either. Ascending by id,
        then time.

    Raises
    ------
    RecordingError
        If there is less than a frame in ten seconds, the ground has several floors, or the table is larger
        than the memory.

    Notes
    -----
    One definition as in a run, without what only a run knows: nobody waits by design here, and no detour is
    forgiven.
    """
    with run_of(source) as run:
        facts = facts_of(run)
        step = max(1, round(facts.fps))
        if round(STUCK_SECONDS * facts.fps / step) < 1:
            raise RecordingError(
                f"{facts.name}: has {facts.fps:g} frames a second, too few to say which people were stuck "
                "for ten seconds."
            )
        if facts.header is not None and len(facts.header.ground) > 1:
            raise RecordingError(
                f"{facts.name}: has several floors, and paths over these are not looked for. Ask "
                "`stuck_spells`, which knows the run."
            )
        ground = facts.ground if ground is None else ground
        over = None if ground is None else _Ground(ground)
        return of_each_place(
            run,
            lambda tracks: _stuck_by_place(tracks, goal, over, step),
            row_bytes=33,
            rows_in=lambda recording: int(np.diff(recording.frame_starts())[::step].sum()),
        )


def _stuck_by_place(tracks: Tracks, goal: Any, over: _Ground | None, step: int) -> pd.DataFrame:
    looks = round(STUCK_SECONDS * tracks.fps / step)
    rows = np.flatnonzero((tracks.frame - tracks.first_frame) % step == 0)
    person = tracks.person[rows]
    place = np.column_stack((tracks.x[rows], tracks.y[rows]))
    goals, goal_of = _goals(tracks, goal)
    wanted = goal_of[np.searchsorted(tracks.seen, person)]
    remaining = (
        shapely.distance(shapely.points(place), np.array(goals, dtype=object)[wanted])
        if over is None
        else over.lengths(place, goals, wanted)
    )
    table = pd.DataFrame({"id": person, "time_s": tracks.time_s[rows], "remaining_m": remaining})
    least = table.groupby("id")["remaining_m"].cummin()
    table["progress_m"] = least.groupby(table["id"]).transform("first") - least
    look = (tracks.frame[rows] - tracks.first_frame) // step
    then = pd.Series(table["progress_m"].to_numpy(), index=pd.MultiIndex.from_arrays([person, look + looks]))
    speed = tracks.of_people("desired_speed_m_s").astype(np.float64)[rows]
    before = then.reindex(pd.MultiIndex.from_arrays([person, look])).to_numpy()
    table["is_stuck"] = has_no_progress(
        table["progress_m"].to_numpy(), before, np.where(np.isnan(speed), FAST_M_S, speed)
    )
    return with_units(table)


def _goals(tracks: Tracks, goal: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the goals, and which of them each person that was seen has, (p,)."""
    last = tracks.starts[1:] - 1
    if goal is not None and not isinstance(goal, Mapping):
        return [goal], np.zeros(len(last), dtype=np.int64)
    given: Mapping[int, Any] = goal or {}
    seen = tracks.seen.tolist()
    ends = shapely.points(tracks.x[last], tracks.y[last]).tolist()
    return [given.get(each, end) for each, end in zip(seen, ends, strict=True)], np.arange(len(last))


class _Ground:
    """Ground that the shortest paths lead over.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon
    """

    def __init__(self, ground: Any) -> None:
        self._ground, self._inner = ground, shapely.buffer(ground, -_RIM_M)
        self._mesh = build_mesh(ground).mesh

    def lengths(
        self, place: NDArray[np.float64], shapes: list[Any], wanted: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return how long the shortest paths are, (n,) m; those seen beside the ground count from the place
        on it that is nearest to them.
        """
        mesh = self._mesh
        goals = cut_goals(mesh, [GoalShape(self._onto(each)) for each in shapes])
        points = shapely.points(place)
        on = shapely.get_coordinates(shapely.shortest_line(points, self._inner))[1::2]
        beside = ~shapely.covers(self._ground, points)
        here = np.where(beside[:, None], on, place)
        polygon = np.empty(len(here), dtype=np.int64)
        locate_many(0, len(here), mesh, here, np.zeros(len(here), dtype=np.int32), polygon)
        asks = np.flatnonzero(polygon >= 0)
        remaining = np.full(len(here), np.nan)
        asked = Asked(
            mesh, goals, here[asks], polygon[asks], wanted[asks].astype(np.int32), np.zeros(len(asks))
        )
        length = FoundCorridors(MeshPlanner(mesh, goals, kind="optimal"), asked).lengths()
        remaining[asks] = np.where(np.isfinite(length), length, np.nan)
        return remaining

    def _onto(self, goal: Any) -> Any:
        """Return a goal as far as it is on the ground; of one beside it, the nearest place that is."""
        on = shapely.intersection(goal, self._ground)
        if not shapely.is_empty(on) and (goal.geom_type == "Point" or shapely.area(on) > 0.0):
            return on
        return shapely.Point(shapely.get_coordinates(shapely.shortest_line(self._inner, goal))[0])
