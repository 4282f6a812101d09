"""Densities, speeds and flows as PedPy ([PedPy 2025]) computes them, on recorded runs and on measured people;
nothing else needs PedPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import shapely

from crowdsim.errors import CrowdsimError, needed
from crowdsim.measures.areas import Area
from crowdsim.measures.lines import Line
from crowdsim.measures.motion import SPEED_OVER_S, row_speeds
from crowdsim.measures.sources import Source, tracks_of
from crowdsim.measures.tracks import Tracks, with_units

OFF_GROUND_M = 1e-6  # Rounding puts a place so far outside a wall that it touches; PedPy would refuse it.


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
    """
    tracks = tracks_of(source)
    columns = {"id": tracks.person, "frame": tracks.frame, "x": tracks.x, "y": tracks.y}
    return _pedpy().TrajectoryData(data=pd.DataFrame(columns), frame_rate=tracks.fps)


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
    return _pedpy().WalkableArea(_piece(tracks_of(source), around))


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
    Cells take some 0.2 ms a person and frame. Source: [Steffen 2010].
    """
    pedpy, tracks = _pedpy(), tracks_of(source)
    piece = _piece(tracks, area.polygon)
    try:
        place = pedpy.MeasurementArea(area.polygon)
    except Exception as error:  # PedPy has several kinds; they all say that the polygon does not suit
        raise CrowdsimError(
            f'PedPy cannot measure in the area "{area.name}": {str(error).splitlines()[0]}'
        ) from None
    data = _on_ground(tracks, piece)
    speed = _speeds(tracks, over_s)
    cut_off = None if cut_off_m is None else pedpy.Cutoff(radius=cut_off_m, quad_segments=3)
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
    table = pd.DataFrame(
        {"time_s": tracks.frame_s},
        index=pd.RangeIndex(tracks.first_frame, tracks.first_frame + len(tracks.frame_s), name="frame"),
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
    return with_units(table.reset_index())


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
    pedpy, tracks = _pedpy(), tracks_of(source)
    if len(line.points) != 2:
        raise CrowdsimError(f'PedPy measures at lines with two points; "{line.name}" has {len(line.points)}.')
    curve, crossing = pedpy.compute_n_t(
        traj_data=pedpy_trajectory(tracks), measurement_line=pedpy.MeasurementLine(list(line.points))
    )
    flow = pd.DataFrame({"flow_per_s": np.zeros(0), "mean_speed_m_s": np.zeros(0)})
    if len(crossing):
        found = pedpy.compute_flow(
            nt=curve,
            crossing_frames=crossing,
            individual_speed=_speeds(tracks, over_s),
            delta_frame=max(1, round(every_s * tracks.fps)),
            frame_rate=tracks.fps,
        )
        if len(found):
            flow = found.rename(columns={"flow": "flow_per_s", "mean_speed": "mean_speed_m_s"})
    curve = curve.rename(columns={"cumulative_pedestrians": "total", "time": "time_s"})[
        ["frame", "time_s", "total"]
    ]
    return with_units(curve), with_units(flow)


def _speeds(tracks: Tracks, over_s: float) -> pd.DataFrame:
    return pd.DataFrame({"id": tracks.person, "frame": tracks.frame, "speed": row_speeds(tracks, over_s)[2]})


def _pedpy() -> Any:
    return needed(
        "pedpy",
        "Densities by Voronoi cells are computed by PedPy, which is not installed: pip install "
        '"crowdsim[pedpy]".',
    )


def _on_ground(tracks: Tracks, piece: Any) -> Any:
    """Return the rows of people on a piece of ground;
    those outside by no more than rounding are put on its edge.
    """
    shapely.prepare(piece)
    points = shapely.points(tracks.x, tracks.y)
    outside = np.flatnonzero(~shapely.covers(piece, points))
    keep = np.ones(len(tracks), dtype=bool)
    x, y = tracks.x.copy(), tracks.y.copy()
    if len(outside):
        near = shapely.dwithin(piece, points[outside], OFF_GROUND_M)
        keep[outside[~near]] = False
        inner = piece.buffer(-OFF_GROUND_M)
        for row in outside[near].tolist():
            edge = shapely.shortest_line(inner, points[row]).coords[0]
            x[row], y[row] = edge[0], edge[1]
    if not keep.any():
        raise CrowdsimError(f"{tracks.name}: nobody is on the ground that is given.")
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
