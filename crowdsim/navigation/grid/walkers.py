"""The walks of many agents: new targets, paths that were found, stopping in place ([Pathfinding undated],
section 7).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.threads import Team
from crowdsim.navigation.grid.follow import (
    Walks,
    find_cut,
    find_standing,
    follow_waypoints,
    marked_cells,
    measure_paths,
)
from crowdsim.navigation.grid.ground import Ground, level_ground
from crowdsim.navigation.grid.parameters import WalkParameters
from crowdsim.saved import FARTHEST_M, MOST, Arrays, Saved


class Walkers:
    """Walks of agents that are numbered by rows.

    Parameters
    ----------
    position : (n, 2) float64, m
        Where the agents are; they stand there, with no target. On several floors all places are those on the
        sheet of the grid.
    parameters : WalkParameters, optional
    ground : Ground, optional
        What they walk on; one level floor where it is not given.

    Attributes
    ----------
    walks : Walks
    """

    def __init__(
        self,
        position: NDArray[np.float64],
        parameters: WalkParameters | None = None,
        ground: Ground | None = None,
    ) -> None:
        self.parameters = parameters or WalkParameters()
        self.ground = level_ground() if ground is None else ground
        count = len(position)
        start, total, current = (np.zeros(count, dtype=np.int64) for _ in range(3))
        nothing = np.full((count, 2), np.nan)
        self.walks = Walks(
            np.zeros((0, 2)),
            start,
            total,
            current,
            position.copy(),
            position.copy(),
            nothing,
            np.zeros(count, dtype=np.uint8),
        )

    def ask(self, rows: NDArray[np.int64], target: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Give agents new targets.

        Parameters
        ----------
        rows : (k,) int64
        target : (k, 2) float64, m

        Returns
        -------
        (k,) bool
            Whether the target is a new one, so that a path has to be looked for; the last one of the others
            is within `same_target` of it.
        """
        away = target - self.walks.requested[rows]
        is_new = ~(hypots(away[:, 0], away[:, 1]) <= self.parameters.same_target)
        self.walks.requested[rows[is_new]] = target[is_new]
        return is_new

    def take(
        self,
        rows: NDArray[np.int64],
        start: NDArray[np.int64],
        waypoint: NDArray[np.float64],
        position: NDArray[np.float64],
        beyond: NDArray[np.float64] | None = None,
    ) -> None:
        """Set agents on paths that were found; an agent without one stops where it is.

        Parameters
        ----------
        rows : (k,) int64
        start : (k + 1,) int64
        waypoint : (m, 2) float64, m
            The path of agent ``rows[i]`` is ``waypoint[start[i]:start[i + 1]]``.
        position : (n, 2) float64, m
            Where all agents are.
        beyond : (k, 2) float64, m, optional
            Where an agent goes on to when it has passed its last waypoint; NaN, and without it, there it
            stays.
        """
        walks = self.walks
        others = np.ones(len(walks.total), dtype=np.bool_)
        others[rows] = False
        kept = np.flatnonzero(others & (walks.total > 0))
        length = np.concatenate([walks.total[kept], np.diff(start)])
        begin = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        places = np.repeat(walks.start[kept] - begin[: len(kept)], walks.total[kept]) + np.arange(
            begin[len(kept)]
        )
        owner = np.concatenate([kept, rows])
        walks.start[owner], walks.total[owner] = begin[:-1], length
        walks.current[rows] = 0
        walks.leg[rows] = position[rows]
        has_path = np.diff(start) > 0
        walks.target[rows[has_path]] = waypoint[start[1:][has_path] - 1]
        walks.target[rows[~has_path]] = position[rows[~has_path]]
        if beyond is not None:
            goes_on = has_path & ~np.isnan(beyond[:, 0])
            walks.target[rows[goes_on]] = beyond[goes_on]
        self.walks = walks._replace(waypoint=np.concatenate([walks.waypoint[places], waypoint]))

    def select(self, rows: NDArray[np.int64], position: NDArray[np.float64]) -> None:
        """Renumber the agents, after some have left or come.

        Parameters
        ----------
        rows : (n,) int64
            The row that each agent had before; -1 for those that are new and stand where they are.
        position : (n, 2) float64, m
            Where they are.
        """
        before, fresh = self.walks, Walkers(position, self.parameters, self.ground).walks
        is_old = rows >= 0
        for name in Walks._fields[1:]:
            getattr(fresh, name)[is_old] = getattr(before, name)[rows[is_old]]
        self.walks = fresh._replace(waypoint=before.waypoint)

    def stop(self, rows: NDArray[np.int64], position: NDArray[np.float64]) -> None:
        """Stop agents where they are: they forget their paths and targets.

        Parameters
        ----------
        rows : (k,) int64
        position : (n, 2) float64, m
            Where all agents are.
        """
        walks = self.walks
        walks.total[rows] = walks.current[rows] = 0
        walks.target[rows] = walks.requested[rows] = position[rows]

    def halt(self, rows: NDArray[np.int64], place: NDArray[np.float64]) -> None:
        """Stop agents where they are, (k, 2), m: they forget their paths, but not their last request."""
        walks = self.walks
        walks.total[rows] = walks.current[rows] = 0
        walks.target[rows] = place

    def cut(
        self, lost: NDArray[np.bool_], ground: Ground, position: NDArray[np.float64], team: Team
    ) -> NDArray[np.bool_]:
        """Return (n,) bool: whether the path of each agent, as far as it is ahead,
        leads over cells that were lost.

        Parameters
        ----------
        lost : (depth, width) bool
        ground : Ground
        position : (n, 2) float64, m
        team : Team
        """
        result = np.empty(len(position), dtype=np.uint8)
        team.run(find_cut, len(position), self.walks, position, ground, marked_cells(lost), result)
        return result.view(np.bool_)

    def forget(self, rows: NDArray[np.int64]) -> None:
        """Let agents ask for a path even to the target of their last request."""
        self.walks.requested[rows] = np.nan

    def standing(self, position: NDArray[np.float64], team: Team) -> NDArray[np.bool_]:
        """Return (n,) bool: which agents have no waypoints and are at their targets,
        so that others walk around them.

        Parameters
        ----------
        position : (n, 2) float64, m
        team : Team
        """
        result = np.empty(len(position), dtype=np.uint8)
        team.run(
            find_standing,
            len(position),
            self.walks,
            position,
            float(self.parameters.waypoint_reached),
            result,
        )
        return result.view(np.bool_)

    def toward(self) -> NDArray[np.float64]:
        """Return (n, 2) float64, m: the waypoint or target that each agent goes to."""
        walks = self.walks
        on = walks.total > 0
        result = walks.target.copy()
        result[on] = walks.waypoint[walks.start[on] + walks.current[on]]
        return result

    def ahead(
        self, rows: NDArray[np.int64], position: NDArray[np.float64], team: Team
    ) -> NDArray[np.float64]:
        """Return (k,) float64, m: how long the paths of agents still are along the surface,
        over their waypoints to where they want to stand.

        Parameters
        ----------
        rows : (k,) int64
        position : (n, 2) float64, m
            Where all agents are.
        team : Team
        """
        length = np.empty(len(rows))
        team.run(measure_paths, len(rows), rows, self.walks, self.ground, position, length)
        return length

    def follow(
        self,
        position: NDArray[np.float64],
        speed: NDArray[np.float64],
        tick: float,
        team: Team,
        radius: NDArray[np.float64] | None = None,
        aim: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Move the walks on by a tick.

        Parameters
        ----------
        position : (n, 2) float64, m
        speed : (n,) float64, m/s
        tick : float, s
        team : Team
        radius : (n,) float64, m, optional
            What agents keep from the ends of seams; nothing where it is not given.
        aim : (n, 2) float64, m, optional
            Receives the waypoint or target that each walks to.

        Returns
        -------
        (n, 2) float64, m/s
            Preferred velocities.
        (n,) bool
            Whether each reached its last waypoint in this tick.
        """
        velocity, arrived = np.empty((len(position), 2)), np.empty(len(position), dtype=np.uint8)
        team.run(
            follow_waypoints,
            len(position),
            self.walks,
            self.ground,
            position,
            np.zeros(len(position)) if radius is None else radius,
            speed,
            float(tick),
            float(self.parameters.waypoint_reached),
            velocity,
            arrived,
            np.empty((len(position), 2)) if aim is None else aim,
        )
        return velocity, arrived.view(np.bool_)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives in the walks as named arrays."""
        return {name: array.copy() for name, array in self.walks._asdict().items()}

    def restore(self, state: Arrays | Saved, within: tuple[float, float, float, float] | None = None) -> None:
        """Take back what `state()` gave.

        Parameters
        ----------
        state : mapping of str to arrays, or Saved
        within : (float, float, float, float), m, optional
            Least x and y, greatest x and y of waypoints: lines between them are followed cell by cell.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved = Saved.of(state)
        low, high = (within[:2], within[2:]) if within is not None else (-FARTHEST_M, FARTHEST_M)
        waypoint = saved.take("waypoint", "f8", (None, 2), low=low, high=high)
        total = saved.take("total", "i8", low=0, high=len(waypoint))
        count = len(total)
        # where there is no path, it is where one began once, perhaps beyond what is kept now
        start = saved.take(
            "start", "i8", (count,), low=0, high=np.where(total > 0, len(waypoint) - total, MOST)
        )
        current = saved.take("current", "i8", (count,), low=0, high=np.maximum(total - 1, 0))
        leg, target = (
            saved.take(name, "f8", (count, 2), low=-FARTHEST_M, high=FARTHEST_M) for name in ("leg", "target")
        )
        requested = saved.take("requested", "f8", (count, 2), low=-FARTHEST_M, high=FARTHEST_M, special="nan")
        self.walks = Walks(
            waypoint,
            start,
            total,
            current,
            leg,
            target,
            requested,
            saved.take("is_walking", "u1", (count,), high=1),
        )
