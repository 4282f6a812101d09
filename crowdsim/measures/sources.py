"""Tracks of whatever says where people were: recordings of ours, measured people, or tracks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

import shapely

from crowdsim.errors import RecordingError
from crowdsim.measures.measured import is_measured, read_measured
from crowdsim.measures.tracks import EVENT_COLUMNS, Tracks, make_tracks, people_table
from crowdsim.recording.opening import open_run
from crowdsim.recording.reader import Recording

Source: TypeAlias = "str | os.PathLike[str] | Recording | Tracks"


def tracks_of(source: Source) -> Tracks:
    """Return where people were.

    Parameters
    ----------
    source : path, Recording, or Tracks
        A recording of ours, open or as a file; or measured people: a text file that says how many frames a
        second it has, or an HDF5 file as archives of experiments have them (`read_measured` reads text files
        that say less). Tracks are returned as they are.

    Returns
    -------
    Tracks

    Raises
    ------
    RecordingError
        If it cannot be read, or holds nobody.
    """
    if isinstance(source, Tracks):
        return source
    if isinstance(source, Recording):
        return _recorded(source)
    if is_measured(Path(source)):
        return read_measured(source)
    with open_run(source) as recording:
        return _recorded(recording)


def tracks_of_run(source: Source, lacking: str) -> Tracks:
    """Return where people were, of a recorded run.

    Parameters
    ----------
    source : path, Recording, or Tracks
    lacking : str
        What measured people have not, for the error.

    Raises
    ------
    RecordingError
        If it is of measured people, or cannot be read.
    """
    tracks = tracks_of(source)
    if not tracks.has_events:
        raise RecordingError(f"{tracks.name}: measured people have no {lacking}")
    return tracks


def _recorded(recording: Recording) -> Tracks:
    header = recording.header
    has_layers = len(header.ground) > 1 and any(column.name == "layer" for column in recording.layout.columns)
    rows = recording.trajectories(columns=["x", "y", "z", *(["layer"] if has_layers else [])])
    roster, events, frames = recording.roster(), recording.events(), recording.frames()
    people = people_table(
        roster["entity"].to_numpy(),
        group=roster["group_name"].to_numpy(),
        index=roster["index"].to_numpy(),
        radius_m=roster["radius"].to_numpy(),
        desired_speed_m_s=roster["desired_speed"].to_numpy(),
        start_s=roster["start_tick"].to_numpy() * header.tick_s,
    ).sort_values("id", ignore_index=True)
    happened = events.rename(columns={"entity": "id", "x": "x_m", "y": "y_m"}).assign(
        time_s=events["tick"] * header.tick_s
    )[list(EVENT_COLUMNS)]
    floors = recording.floors()
    ground = shapely.union_all(floors) if floors else None
    return make_tracks(
        str(recording.path), recording.fps, rows["id"].to_numpy(), rows["frame"].to_numpy(),
        rows["x"].to_numpy(), rows["y"].to_numpy(), rows["z"].to_numpy(),
        layer=rows["layer"].to_numpy() if has_layers else None, frame_s=frames["time_s"].to_numpy(),
        first_frame=0, people=people, events=happened, ground=ground, header=header,
    )  # fmt: skip
