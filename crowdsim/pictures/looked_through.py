"""One pass over a recording, frame by frame, for all panels of a picture:
trails thinned to what can be seen, densities on a grid, speeds.

Memory does not grow with the length of a run: what is kept are some thousand trails of some hundred points,
sums on a grid, and five numbers a frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.measures.motion import SPEED_OVER_S, half_window
from crowdsim.recording.reader import Recording

# Trails that are drawn; more are a solid colour, and drawing them takes minutes. The title says when some are
# left out.
MOST_TRAILS = 2000
MOST_POINTS = 400  # Of one trail: beyond that, frames are skipped; the picture has fewer pixels.
BIN_M = 0.25  # Cells in which people are counted.
SQUARE_M = 1.0  # Side of the squares of the classic density: four cells.
OVER_S = 5.0  # Densities are means over so long: shorter ones are the noise of agents that step over an edge.
MOST_BINS = 1_000_000  # Of all cells of a plan: larger plans have larger cells, and squares of four of those.
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)


def look_through(
    recording: Recording,
    wanted: Sequence[str],
    grounds: Sequence[Any],
    note: Callable[[str], None] = lambda _: None,
) -> SimpleNamespace:
    """Go through a recording once.

    Parameters
    ----------
    recording : Recording
    wanted : sequence of str
        Of ``trails``, ``density`` and ``speeds``.
    grounds : sequence of shapely geometry
        Of each floor.
    note : callable
        Gets what goes on, as words.

    Returns
    -------
    SimpleNamespace
        What was asked for, by these names: `Trails`, `Density`, `Speeds`.
    """
    kinds: dict[str, Any] = {"trails": Trails, "density": Density, "speeds": Speeds}
    used = {name: kind(recording, grounds) for name, kind in kinds.items() if name in wanted}
    knows_floors = len(grounds) > 1 and any(column.name == "layer" for column in recording.layout.columns)
    if used:
        for frame, rows in frames_of(recording, ["x", "y", *(["layer"] if knows_floors else [])]):
            note(f"reading: {frame + 1:,} of {recording.commit.frames:,} frames")
            for each in used.values():
                each.add(frame, rows)
    for each in used.values():
        each.finish()
    return SimpleNamespace(**used)


def frames_of(recording: Recording, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
    """Yield each frame with its rows, reading some 65,536 rows at a time."""
    starts = recording.frame_starts()
    for first, stop in recording.frame_spans():
        rows = recording.rows(int(starts[first]), int(starts[stop]), columns)
        for frame in range(first, stop):
            low, high = int(starts[frame] - starts[first]), int(starts[frame + 1] - starts[first])
            yield frame, {name: values[low:high] for name, values in rows.items()}


class Trails:
    """Where some people went.

    Attributes
    ----------
    rows : dict of str to array
        frame, id, x, y and, where floors were recorded, layer: in order of frame.
    shown, total : int
        How many people have a trail, and how many there are.
    step : int
        Every how manyeth frame was taken.
    """

    def __init__(self, recording: Recording, _: Sequence[Any]) -> None:
        entities = recording.roster()["entity"].to_numpy()
        self.total = len(entities)
        self.chosen = np.zeros(int(entities.max(initial=0)) + 1, dtype=bool)
        self.chosen[entities[:: max(1, -(-len(entities) // MOST_TRAILS))]] = True
        self.step = max(1, recording.commit.frames // MOST_POINTS)
        self.last = recording.commit.frames - 1
        self.parts: list[dict[str, NDArray[Any]]] = []

    def add(self, frame: int, rows: dict[str, NDArray[Any]]) -> None:
        """Take a frame in."""
        if frame % self.step == 0 or frame == self.last:
            some = self.chosen[rows["id"]]
            self.parts.append({name: values[some] for name, values in rows.items()})

    def finish(self) -> None:
        """Put together what was taken in."""
        names = self.parts[0] if self.parts else ("frame", "id", "x", "y")
        self.rows: dict[str, NDArray[Any]] = {
            name: np.concatenate([part[name] for part in self.parts]) if self.parts else np.zeros(0)
            for name in names
        }
        self.shown = len(np.unique(self.rows["id"]))


class Density:
    """Highest classic density over a few seconds, by place.

    Attributes
    ----------
    highest : (floors, up, across) float64, 1/m2
        In the square round each cell; nan where the cell's centre is no ground.
    x, y : (across + 1,), (up + 1,) float64, m
        Edges of the cells.
    square_m : float, m
        Side of the squares.
    over_s : float, s
        Time over which densities are means.
    """

    def __init__(self, recording: Recording, grounds: Sequence[Any]) -> None:
        left, bottom, right, top = shapely.total_bounds(np.array(list(grounds), dtype=object))
        self.bin = max(BIN_M, float(np.sqrt(len(grounds) * (right - left) * (top - bottom) / MOST_BINS)))
        self.left, self.bottom = float(left), float(bottom)
        self.across, self.up = (
            int(np.ceil((right - left) / self.bin)) + 1,
            int(np.ceil((top - bottom) / self.bin)) + 1,
        )
        self.square_m, self.over_s = 4.0 * self.bin, OVER_S
        self.x = self.left + self.bin * np.arange(self.across + 1)
        self.y = self.bottom + self.bin * np.arange(self.up + 1)
        centre_x, centre_y = np.meshgrid(0.5 * (self.x[1:] + self.x[:-1]), 0.5 * (self.y[1:] + self.y[:-1]))
        for ground in grounds:
            shapely.prepare(ground)
        self.inside = np.array([shapely.contains_xy(ground, centre_x, centre_y) for ground in grounds])
        self.frames = max(1, round(OVER_S * recording.fps))
        self.counts = np.zeros(self.inside.shape)
        self.highest = np.zeros(self.inside.shape)
        self.taken = 0
        # Of a square that is cut by walls only the ground counts, a quarter of it at least: else one person
        # in a nook would be a crowd.
        self.area = self.bin**2 * np.maximum([_in_squares(each.astype(float)) for each in self.inside], 4.0)

    def add(self, frame: int, rows: dict[str, NDArray[Any]]) -> None:
        """Take a frame in."""
        column = ((rows["x"] - self.left) / self.bin).astype(np.int64)
        row = ((rows["y"] - self.bottom) / self.bin).astype(np.int64)
        layer = (
            np.clip(rows["layer"], 0, len(self.inside) - 1).astype(np.int64)
            if "layer" in rows
            else np.zeros(len(row), dtype=np.int64)
        )
        # beyond the plan: in an exit that reaches out
        there = (column >= 0) & (column < self.across) & (row >= 0) & (row < self.up)
        cell = (layer[there] * self.up + row[there]) * self.across + column[there]
        self.counts += np.bincount(cell, minlength=self.counts.size).reshape(self.counts.shape)
        self.taken += 1
        if self.taken == self.frames:
            self._close()

    def _close(self) -> None:
        for floor, counts in enumerate(self.counts):
            self.highest[floor] = np.maximum(
                self.highest[floor], _in_squares(counts) / self.taken / self.area[floor]
            )
        self.counts[:] = 0.0
        self.taken = 0

    def finish(self) -> None:
        """Take in the frames at the end; a rest that is too short would be noise."""
        if self.taken and (self.taken >= self.frames // 2 or not self.highest.any()):
            self._close()
        self.highest[~self.inside] = np.nan


def _in_squares(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the four by four cells round each cell:
    half of the outermost of five count on either side.
    """
    along = np.array([0.5, 1.0, 1.0, 1.0, 0.5])
    padded = np.pad(cells, 2)
    down = sum(weight * padded[place : place + len(cells)] for place, weight in enumerate(along))
    return sum(weight * down[:, place : place + cells.shape[1]] for place, weight in enumerate(along))


class Speeds:
    """How fast people were.

    Attributes
    ----------
    time_s : (f,) float64, s
    people : (f,) int64
        Whose speed is known then.
    mean : (f,) float64, m/s
    quantiles : (f, 5) float64, m/s
        By `SHARES`.
    over_s : float, s
        Speeds are displacements over so long, by that time.
    """

    def __init__(self, recording: Recording, _: Sequence[Any]) -> None:
        entities = recording.roster()["entity"].to_numpy()
        size = int(entities.max(initial=0)) + 1
        self.frame_s = recording.frames()["time_s"].to_numpy()
        self.back = 2 * half_window(recording.fps, SPEED_OVER_S)
        self.kept: deque[tuple[float, NDArray[np.float64]]] = deque(maxlen=self.back + 1)
        self.blank = np.full((size, 2), np.nan)
        self.found: list[tuple[float, ...]] = []

    def add(self, frame: int, rows: dict[str, NDArray[Any]]) -> None:
        """Take a frame in."""
        place = self.kept[0][1] if len(self.kept) == self.back + 1 else self.blank.copy()
        place[:] = np.nan
        place[rows["id"], 0], place[rows["id"], 1] = rows["x"], rows["y"]
        self.kept.append((float(self.frame_s[frame]), place))
        if len(self.kept) <= self.back:
            return
        (begin, before), (end, after) = self.kept[0], self.kept[-1]
        apart = after[rows["id"]] - before[rows["id"]]
        speed = np.hypot(apart[:, 0], apart[:, 1]) / (end - begin)
        speed = speed[np.isfinite(speed)]
        if len(speed):
            self.found.append(
                (0.5 * (begin + end), len(speed), float(speed.mean()), *np.quantile(speed, SHARES).tolist())
            )

    def finish(self) -> None:
        """Put together what was taken in."""
        table = np.array(self.found).reshape(-1, 3 + len(SHARES))
        self.time_s, self.people = table[:, 0], table[:, 1].astype(np.int64)
        self.mean, self.quantiles = table[:, 2], table[:, 3:]
        apart_s = np.diff(self.frame_s)
        self.over_s = self.back * float(np.median(apart_s)) if len(apart_s) else SPEED_OVER_S
