"""Densities, speeds and flows as PedPy ([PedPy 2025]) computes them, on recorded runs and on measured people;
nothing else needs PedPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError, needed
from crowdsim.measures.areas import Area
from crowdsim.measures.lines import Line
from crowdsim.measures.motion import SPEED_OVER_S, frames_with_speeds, half_window, row_speeds
from crowdsim.measures.sources import LongRun, Source, facts_of, joined, require_memory, run_of, tracks_of
from crowdsim.measures.tracks import Tracks, with_units

OFF_GROUND_M = 1e-6  # Rounding puts a place so far outside a wall that it touches; PedPy would refuse it.
# Places that PedPy has at a time: a cell of it takes some 2 kB. Larger takes more memory and is no faster.
MOST_ROWS = 2**16
TABLE_BYTES = 350  # A place of PedPy's table while it is made, in which each is an object.


def pedpy_trajectory(source: Source) -> Any:
    """Return where people were as PedPy's functions take it.

    Parameters
    ----------
    source : path, Recording, or Tracks

    Returns
    -------
    pedpy.TrajectoryData

    Raises
    ------
    CrowdsimError
        If PedPy is not installed.
    RecordingError
        If PedPy's table is larger than the memory.
    """
    _pedpy()
    with run_of(source) as run:
        places = len(run) if isinstance(run, Tracks) else run.recording.commit.rows
        require_memory(facts_of(run).name, places * TABLE_BYTES, f"PedPy's table of {places:,} places")
        tracks = tracks_of(run)
    return _trajectory(tracks, np.ones(len(tracks), dtype=bool), tracks.x, tracks.y)


def pedpy_ground(source: Source, around: Any = None) -> Any:
    """Return the walkable ground as PedPy's functions take it: one connected piece.

    Parameters
    ----------
    source : path, Recording, or Tracks
    around : shapely geometry, optional
        Of several pieces, the one that has most of it; without it the largest.

    Returns
    -------
    pedpy.WalkableArea

    Raises
    ------
    CrowdsimError
        If PedPy is not installed, or the ground is not known.
    """
    return _pedpy().WalkableArea(_piece(facts_of(source), around))


def densities(
    source: Source, area: Area, *, cut_off_m: float | None = 1.0, over_s: float = SPEED_OVER_S
) -> pd.DataFrame:
    """Return the density and speed in an area in each frame, the classic and by Voronoi cells.

    Parameters
    ----------
    source : path, Recording, or Tracks
    area : Area
        A Polygon that is convex, as PedPy wants it.
    cut_off_m : float, m, or None
        No cell reaches farther than this from its person. Larger lets the outermost people of a crowd have
        the whole empty ground around them.
    over_s : float, s
        Speeds are those of displacements over this time, see `speeds`: within a track they are PedPy's, at
        its ends what there is of the time counts.

    Returns
    -------
    DataFrame
        frame, time_s (s), classic_density_per_m2, voronoi_density_per_m2 (1/m2), mean_speed_m_s (of those
        inside), voronoi_speed_m_s (m/s; weighted by the parts of the cells in the area). Speeds are NaN where
        nobody is there.

    Raises
    ------
    CrowdsimError
        If PedPy is not installed, the ground is not known, or the area does not suit PedPy.

    Notes
    -----
    Cells take some 0.2 ms a person and frame; PedPy is given some frames at a time. Source: [Steffen 2010].
    """
    pedpy = _pedpy()
    with run_of(source, most_rows=MOST_ROWS) as run:
        facts = facts_of(run)
        half_window(facts.fps, over_s)  # what is no time is told first
        piece = _piece(facts, area.polygon)
        try:
            place = pedpy.MeasurementArea(area.polygon)
        except Exception as error:  # PedPy has several kinds; they all say that the polygon does not suit
            raise CrowdsimError(
                f'PedPy cannot measure in the area "{area.name}": {str(error).splitlines()[0]}'
            ) from None
        cut_off = None if cut_off_m is None else pedpy.Cutoff(radius=cut_off_m, quad_segments=3)
        shapely.prepare(piece)
        tables, is_empty = [], True
        # a frame by itself is added up in another way, and the last digits would be others
        for tracks, speeds in frames_with_speeds(run, over_s, MOST_ROWS, least=2):
            frames = np.arange(len(tracks.frame_s)) + tracks.first_frame
            table = pd.DataFrame(
                {"time_s": tracks.frame_s}, index=pd.Index(frames, dtype=np.int64, name="frame")
            )
            data = _on_ground(tracks, piece)
            is_empty &= data is None
            speed = pd.DataFrame({"id": tracks.person, "frame": tracks.frame, "speed": speeds})
            tables.append(_densities(table, data, speed, piece, place, cut_off).reset_index())
        if is_empty:
            raise CrowdsimError(f"{facts.name}: nobody is on the ground that is given.")
    return with_units(joined(tables))


def _densities(
    table: pd.DataFrame, data: Any, speed: pd.DataFrame, piece: Any, place: Any, cut_off: Any
) -> pd.DataFrame:
    """Return times by frame with the columns of `densities`; `data` is None where nobody is on the ground."""
    if data is None:
        none = {"classic_density_per_m2": 0.0, "voronoi_density_per_m2": 0.0}
        return table.assign(**none, mean_speed_m_s=np.nan, voronoi_speed_m_s=np.nan)
    pedpy = _pedpy()
    cells = pedpy.compute_individual_voronoi_polygons(
        traj_data=data, walkable_area=pedpy.WalkableArea(piece), cut_off=cut_off
    )
    classic = pedpy.compute_classic_density(traj_data=data, measurement_area=place)
    voronoi, parts = pedpy.compute_voronoi_density(individual_voronoi_data=cells, measurement_area=place)
    mean = pedpy.compute_mean_speed_per_frame(traj_data=data, individual_speed=speed, measurement_area=place)
    weighted = pedpy.compute_voronoi_speed(
        traj_data=data, individual_speed=speed, individual_voronoi_intersection=parts, measurement_area=place
    )
    covered = (
        parts.assign(part=shapely.area(parts["intersection"])).groupby("frame")["part"].sum() / place.area
    )
    table["classic_density_per_m2"] = classic.set_index("frame")["density"]
    table["voronoi_density_per_m2"] = voronoi.set_index("frame")["density"]
    table = table.fillna({"classic_density_per_m2": 0.0, "voronoi_density_per_m2": 0.0})
    table["mean_speed_m_s"] = mean.set_index("frame")["speed"].where(table["classic_density_per_m2"] > 0.0)
    share = covered.reindex(table.index).to_numpy()
    # PedPy divides by the whole area; where cells are cut off, people have no speed in what no cell covers.
    table["voronoi_speed_m_s"] = weighted.set_index("frame")["speed"].reindex(table.index) / np.where(
        share > 0.0, share, np.nan
    )
    return table


def passages(
    source: Source, line: Line, *, every_s: float = 5.0, over_s: float = SPEED_OVER_S
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return when people first pass a line and how many have by when, and the flow in parts of the time,
    as PedPy counts them.

    Parameters
    ----------
    source : path, Recording, or Tracks
    line : Line
        With two points.
    every_s : float, s
        Length of the parts; the first begins with the first passage.
    over_s : float, s
        As in `densities`.

    Returns
    -------
    curve : DataFrame
        frame, time_s (s, since frame 0), total. A step over the line that is a person's last is not counted
        by PedPy; `line_crossings` counts it.
    flow : DataFrame
        flow_per_s (1/s), mean_speed_m_s (m/s) of those that pass.

    Raises
    ------
    CrowdsimError
        If PedPy is not installed, or the line has bends.
    """
    pedpy = _pedpy()
    if len(line.points) != 2:
        raise CrowdsimError(f'PedPy measures at lines with two points; "{line.name}" has {len(line.points)}.')
    place = pedpy.MeasurementLine(list(line.points))
    with run_of(source, most_rows=MOST_ROWS) as run:
        fps = facts_of(run).fps
        half_window(fps, over_s)  # what is no time is told first
        none = np.zeros(0, dtype=np.int64)
        found = [pd.DataFrame({"id": none, "frame": none, "speed": np.zeros(0)})]
        first, last = 0, -1  # frames in which people were seen
        for tracks in _some_people(run):
            ends = int(tracks.frame.min()), int(tracks.frame.max())
            first, last = (min(first, ends[0]), max(last, ends[1])) if last >= first else ends
            every = np.ones(len(tracks), dtype=bool)
            data = _trajectory(tracks, every, tracks.x, tracks.y)
            _, crossed = pedpy.compute_n_t(traj_data=data, measurement_line=place)
            found.append(crossed.merge(_speeds(tracks, over_s), on=["id", "frame"]))
    speed = pd.concat(found, ignore_index=True).sort_values("id", ignore_index=True)
    # as PedPy sorts them, which decides in which order it adds up speeds
    crossing = speed.set_index("id")["frame"].sort_values().reset_index()
    frames = np.arange(first, last + 1)
    curve = pd.DataFrame(
        {
            "frame": frames,
            "time_s": frames / fps,
            "total": np.searchsorted(crossing["frame"], frames, side="right"),
        }
    )
    flow = pd.DataFrame({"flow_per_s": np.zeros(0), "mean_speed_m_s": np.zeros(0)})
    if len(crossing):
        flows = pedpy.compute_flow(
            nt=curve.rename(columns={"total": "cumulative_pedestrians", "time_s": "time"}),
            crossing_frames=crossing,
            individual_speed=speed,
            delta_frame=max(1, round(every_s * fps)),
            frame_rate=fps,
        )
        if len(flows):
            flow = flows.rename(columns={"flow": "flow_per_s", "mean_speed": "mean_speed_m_s"})
    return with_units(curve), with_units(flow)


def _some_people(run: Tracks | LongRun) -> Iterator[Tracks]:
    """Yield tracks of some people after each other, ascending, of at most `MOST_ROWS` places where nobody
    alone has more.
    """
    for tracks in (run,) if isinstance(run, Tracks) else run.by_people():
        first = 0
        while first < len(tracks.seen):
            begin = int(tracks.starts[first])
            first = max(first + 1, int(np.searchsorted(tracks.starts, begin + MOST_ROWS, side="right")) - 1)
            rows = slice(begin, int(tracks.starts[first]))
            yield replace(
                tracks, person=tracks.person[rows], frame=tracks.frame[rows], x=tracks.x[rows],
                y=tracks.y[rows], z=tracks.z[rows], layer=None,
            )  # fmt: skip


def _speeds(tracks: Tracks, over_s: float) -> pd.DataFrame:
    return pd.DataFrame({"id": tracks.person, "frame": tracks.frame, "speed": row_speeds(tracks, over_s)[2]})


def _pedpy() -> Any:
    return needed(
        "pedpy",
        "Densities by Voronoi cells are computed by PedPy, which is not installed: pip install "
        '"crowdsim[pedpy]".',
    )


def _on_ground(tracks: Tracks, piece: Any) -> Any:
    """Return the rows of people on a piece of ground, None if there are none; those outside by no more than
    rounding are put on its edge.
    """
    points = shapely.points(tracks.x, tracks.y)
    outside = ~shapely.covers(piece, points)
    keep = np.ones(len(tracks), dtype=bool)
    x, y = tracks.x.copy(), tracks.y.copy()
    if outside.any():
        off, points = np.flatnonzero(outside), points[outside]
        near = shapely.dwithin(piece, points, OFF_GROUND_M)
        keep[off[~near]] = False
        inner = piece.buffer(-OFF_GROUND_M)
        for row, point in zip(off[near].tolist(), points[near], strict=True):
            edge = shapely.shortest_line(inner, point).coords[0]
            x[row], y[row] = edge[0], edge[1]
    return _trajectory(tracks, keep, x, y) if keep.any() else None


def _trajectory(
    tracks: Tracks, keep: NDArray[np.bool_], x: NDArray[np.float64], y: NDArray[np.float64]
) -> Any:
    columns = {"id": tracks.person[keep], "frame": tracks.frame[keep], "x": x[keep], "y": y[keep]}
    return _pedpy().TrajectoryData(data=pd.DataFrame(columns), frame_rate=tracks.fps)


def _piece(tracks: Tracks, around: Any) -> Any:
    if tracks.ground is None:
        raise CrowdsimError(
            f"{tracks.name}: does not say where the ground is, and cells of people end at its walls. Give "
            "it: dataclasses.replace(tracks, ground=...)."
        )
    parts = shapely.get_parts(tracks.ground)
    sizes = shapely.area(parts) if around is None else shapely.area(shapely.intersection(parts, around))
    return parts[int(np.argmax(sizes))]
