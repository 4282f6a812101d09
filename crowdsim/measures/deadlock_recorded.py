"""Moments of a recorded run, as a diagnosis of stuck agents takes them:
from what was recorded and the scenario in it, without running anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.measures.deadlock_causes import Moment
from crowdsim.measures.deadlock_places import Segments
from crowdsim.measures.destinations import GoalsThen, regions_set
from crowdsim.measures.obstacles import TURNS, open_areas
from crowdsim.recording.reader import Recording
from crowdsim.scenario.areas import closed_areas
from crowdsim.scenario.geometry import joins_of
from crowdsim.scenario.load import scenario_of_run
from crowdsim.scenario.model import Goal, Scenario
from crowdsim.world.columns import AgentState, Diagnosis, PathStatus
from crowdsim.world.entities import FIRST_DISC
from crowdsim.world.events import Cause

NEEDED = (
    "activity",
    "goal",
    "path_status",
    "path_tick",
    "preferred_velocity",
    "next_corner",
    "diagnosis",
    "blocker",
    "layer",
)
_MM = 1e-3


class Recorded:
    """A recording, looked at for stuck agents.

    Parameters
    ----------
    recording : Recording

    Attributes
    ----------
    events, roster : DataFrame
        As the recording returns them; the roster ascending by entity.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.events: pd.DataFrame = recording.events()
        self.roster: pd.DataFrame = recording.roster()
        if not self.roster["entity"].is_monotonic_increasing:
            self.roster = self.roster.sort_values("entity", ignore_index=True)
        self.tick_s = recording.header.tick_s
        listed = int(self.roster["entity"].max()) if len(self.roster) else 0
        # Where agents come in while the run lasts, obstacles have numbers beyond all that agents can have.
        self.people = FIRST_DISC - 1 if self.scenario.has_arrivals else listed
        self._walls: dict[int, Segments] = {}  # by how many changes of the ground came before

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario of the run."""
        return scenario_of_run(self.recording.header, str(self.recording.path))

    @cached_property
    def frame_ticks(self) -> NDArray[np.int64]:
        """Tick of each frame, ascending."""
        return self.recording.frames()["tick"].to_numpy()

    def label(self, entity: int, otherwise: str) -> str:
        """Return what a user calls an agent; `otherwise` of what is none."""
        entities = self.roster["entity"].to_numpy()
        row = int(np.searchsorted(entities, entity))
        if row == len(entities) or entities[row] != entity:
            return otherwise
        own, group, index = (
            self.roster[name].to_numpy()[row] for name in ("scenario_id", "group_name", "index")
        )
        return f"#{own}" if own >= 0 else f"{group}[{index}]"

    @cached_property
    def spells(self) -> pd.DataFrame:
        """When agents were stuck; see `crowdsim.measures.deadlock.stuck_spells`."""
        own = self.events[self.events["kind"].isin(("STUCK", "UNSTUCK", "ARRIVAL", "RETIRED"))]
        then = own.groupby("entity")[["tick", "kind"]].shift(-1)  # what came next of the same agent
        begins = (own["kind"] == "STUCK") & (then["kind"] != "STUCK")
        end = then["tick"].fillna(self.recording.commit.last_tick + 1).astype(int)
        table = own.assign(begin_tick=own["tick"], end_tick=end, is_over=then["tick"].notna())[begins]
        return table[["entity", "begin_tick", "end_tick", "is_over", "x", "y"]].sort_values(
            ["begin_tick", "entity"], ignore_index=True
        )

    def stuck_since(self, tick: int, entity: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (n,) int64: the tick since when each entity was stuck at the end of a tick;
        -1 for those that were not.
        """
        spells = self.spells
        there = spells[(spells["begin_tick"] <= tick) & (spells["end_tick"] > tick)]
        begin = dict(zip(there["entity"].tolist(), there["begin_tick"].tolist(), strict=True))
        return _changed(np.full(len(entity), -1), entity, begin)

    def reported(self) -> list[Cause | None]:
        """Return why each spell was a deadlock, as the run reported it last; None where it was none:
        too short, or in a queue that got on.
        """
        events = self.events[self.events["kind"] == "DEADLOCKED"]
        of: dict[int, list[tuple[int, Cause]]] = {}
        for tick, entity, cause in events[["tick", "entity", "value"]].itertuples(index=False):
            if cause != Cause.QUEUE:
                # files may say anything
                of.setdefault(entity, []).append(
                    (tick, Cause(cause) if 0 <= cause <= max(Cause) else Cause.UNKNOWN)
                )
        ranges = zip(
            *(self.spells[name].tolist() for name in ("entity", "begin_tick", "end_tick")), strict=True
        )
        return [
            next((cause for tick, cause in reversed(of.get(entity, [])) if begin <= tick < end), None)
            for entity, begin, end in ranges
        ]

    def frame_at(self, tick: int) -> int:
        """Return the last frame that is not later than a tick."""
        return int(np.searchsorted(self.frame_ticks, tick, side="right")) - 1

    def moment(self, frame: int) -> Moment:
        """Return all agents in a frame.

        Raises
        ------
        CrowdsimError
            If columns that a diagnosis needs were not recorded.
        """
        known = {column.name for column in self.recording.layout.columns}
        missing = [name for name in NEEDED if name not in known]
        if missing:
            raise CrowdsimError(
                f"{self.recording.path}: has no {', '.join(missing)}, without which the reasons of stuck "
                "agents cannot be found. "
                "Record all columns (leave out record.columns), and run again."
            )
        tick = int(self.frame_ticks[frame])
        rows = self.recording.trajectories(
            frames=slice(frame, frame + 1), columns=["x", "y", *NEEDED, *({"waits"} & known)]
        )
        data: dict[str, NDArray[Any]] = {
            "entity": rows["id"].to_numpy(),
            "position": rows[["x", "y"]].to_numpy(),
            "layer": rows["layer"].to_numpy(),
            "activity": rows["activity"].to_numpy(),
            "goal": rows["goal"].to_numpy(),
            "path_status": rows["path_status"].to_numpy(),
            "path_tick": rows["path_tick"].to_numpy().astype(np.int64),
            "preferred_velocity": rows[["preferred_velocity_x", "preferred_velocity_y"]].to_numpy(
                dtype=np.float64
            ),
            "next_corner": rows[["next_corner_x", "next_corner_y"]].to_numpy(dtype=np.float64),
            "diagnosis": rows["diagnosis"].to_numpy(),
            "blocker": rows["blocker"].to_numpy(),
        }
        data["waits"] = rows["waits"].to_numpy() if "waits" in rows else np.zeros(len(rows), dtype=np.uint8)
        data["radius"] = self._radii(tick, data["entity"])
        data["goes_on"] = np.zeros(len(rows), dtype=np.bool_)
        del rows  # what was read; most of it stands in `data` once more
        data = self._with_obstacles(tick, data)
        since = self.stuck_since(tick, data["entity"])
        return Moment(
            tick=tick,
            tick_length=self.tick_s,
            is_stuck=since >= 0,
            stuck_tick=since,
            walls=self.walls(tick),
            goals=self._goals(tick),
            highest_person=self.people,
            **data,
        )

    def _goals(self, tick: int) -> Sequence[Goal]:
        """Return the goals by number as they were at the end of a tick."""
        sent = self._sent[self._sent["tick"] <= tick]
        return GoalsThen(self.scenario, sent, self._regions) if len(sent) else self.scenario.goals

    @cached_property
    def _sent(self) -> pd.DataFrame:
        return self.events[self.events["kind"] == "SENT"]

    @cached_property
    def _regions(self) -> dict[tuple[int, float, float], Goal]:
        return regions_set(self.recording, self.scenario)

    def _radii(self, tick: int, entity: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return (n,) float64, m: the radius of each at the end of a tick."""
        rows = np.searchsorted(self.roster["entity"].to_numpy(), entity)
        changes = self.events[(self.events["kind"] == "RADIUS_SET") & (self.events["tick"] <= tick)]
        last = dict(zip(changes["entity"].tolist(), (changes["value"] * _MM).tolist(), strict=True))
        return _changed(self.roster["radius"].to_numpy()[rows].astype(np.float64), entity, last)

    @cached_property
    def _obstacles_are_known(self) -> bool:
        return not bool((self.events["kind"] == "OBSTACLE_SENT").any())

    def _with_obstacles(self, tick: int, data: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Add the discs of obstacles that were there, with the entities that they had:
        they come into the world after all agents, in order of appearance.
        """
        obstacles = self.scenario.obstacles if self._obstacles_are_known else ()
        entity = self.people + 1
        for number in sorted(range(len(obstacles)), key=lambda each: (obstacles[each].first_tick, each)):
            obstacle = obstacles[number]
            count = len(obstacle.radius)
            if obstacle.is_there(tick):
                place, none = obstacle.discs(tick), np.zeros(count)
                more = {
                    "entity": np.arange(entity, entity + count),
                    "position": place,
                    "layer": none + max(0, obstacle.layer),
                    "activity": none + AgentState.OBSTACLE,
                    "goal": none - 1,
                    "path_status": none + PathStatus.NONE,
                    "path_tick": none - 1,
                    "preferred_velocity": np.zeros((count, 2)),
                    "next_corner": place,
                    "diagnosis": none + Diagnosis.NONE,
                    "blocker": none,
                    "waits": none,
                    "radius": obstacle.radius,
                    "goes_on": none + obstacle.will_go_on(tick - 1),
                }
                data = {
                    name: np.concatenate([array, more[name].astype(array.dtype)])
                    for name, array in data.items()
                }
            entity += count
        return data

    def grounds(self, tick: int) -> list[Any]:
        """Return the ground of each floor as it was at the end of a tick:
        without areas that were closed, and obstacles that were closed ground.
        """
        is_open = open_areas(self.scenario.geometry.areas, self.events, tick)
        geometry = self.scenario.geometry.with_parts(is_open)
        shut: list[tuple[int, Any]] = [
            (each.layer, each.polygon) for each in closed_areas(geometry.areas, is_open) if each.part < 0
        ]
        obstacles: Sequence[Any] = self.scenario.obstacles if self._obstacles_are_known else ()
        shut += [
            (obstacle.layer, obstacle.outline(tick)) for obstacle in obstacles if obstacle.is_closed(tick)
        ]
        grounds = []
        for floor, ground in enumerate(geometry.grounds):
            closed = [shape for layer, shape in shut if layer in (-1, floor)]
            grounds.append(shapely.difference(ground, shapely.union_all(closed)) if closed else ground)
        return grounds

    def walls(self, tick: int) -> Segments:
        """Return the walls at the end of a tick; where an exit covers one, or another floor begins,
        it is open.
        """
        changes = self.events[
            self.events["kind"].isin((*TURNS, "OBSTACLE_STANDS", "OBSTACLE_MOVES", "OBSTACLE_GONE"))
        ]
        era = int((changes["tick"] <= tick).sum())
        if era not in self._walls:
            self._walls[era] = self._walls_of(self.grounds(tick))
        return self._walls[era]

    def _walls_of(self, grounds: Sequence[Any]) -> Segments:
        starts, ends, layers = [np.zeros((0, 2))], [np.zeros((0, 2))], [np.zeros(0, dtype=np.int32)]
        joins = joins_of(self.scenario.geometry.floors)
        for floor, ground in enumerate(grounds):
            exits = [
                goal.area for goal in self.scenario.goals if goal.kind == "exit" and goal.layer in (-1, floor)
            ]
            border = shapely.boundary(ground)
            border = shapely.difference(border, shapely.union_all(exits)) if exits else border
            meets = [shapely.LineString(join.line) for join in joins if floor in join.floors]
            border = (
                shapely.difference(border, shapely.buffer(shapely.union_all(meets), _MM, cap_style="flat"))
                if meets
                else border
            )
            for line in shapely.get_parts(
                shapely.line_merge(border) if border.geom_type == "MultiLineString" else border
            ):
                if line.is_empty:  # exits take all of the rim
                    continue
                points = shapely.get_coordinates(line)
                starts.append(points[:-1])
                ends.append(points[1:])
                layers.append(np.full(len(points) - 1, floor, dtype=np.int32))
        return Segments(np.concatenate(starts), np.concatenate(ends), np.concatenate(layers))


def _changed(values: NDArray[Any], entity: NDArray[np.int64], of: Mapping[int, float]) -> NDArray[Any]:
    """Return values, (n,), with those that some of the entities have in their place."""
    rows = np.flatnonzero(np.isin(entity, np.fromiter(of, dtype=np.int64, count=len(of))))
    values[rows] = [of[each] for each in entity[rows].tolist()]
    return values
