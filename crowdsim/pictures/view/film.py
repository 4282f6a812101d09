"""A recorded run as a film, for slides and pages where no script may run:
drawn by matplotlib, coloured by speed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError, needed
from crowdsim.measures.obstacles import TURNS, open_areas
from crowdsim.pictures.framing import bounds_of, look_at
from crowdsim.pictures.run import (
    CLOSED,
    NO_MATPLOTLIB,
    OBSTACLE,
    OPEN,
    draw_goals,
    draw_ground,
    panels,
)
from crowdsim.recording.made import MARK
from crowdsim.recording.reader import Recording
from crowdsim.scenario.load import scenario_of_run
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.plan_in_time import plan_in_time

# Pictures a second. GIF counts in hundredths of a second, and few programs show it faster.
RATE = {"gif": 15, "mp4": 25}
USUAL_SECONDS = 20.0  # Of a film whose speed nobody chose: as long as people look.
MOST_PICTURES = 3000  # Beyond, drawing takes many minutes.
DPI = 80  # 800 dots across


def draw_film(
    recording: Recording,
    out: Path,
    *,
    form: str,
    speed: float | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Write a recording as a film.

    Parameters
    ----------
    recording : Recording
    out : Path
    form : str
        gif or mp4.
    speed : float, optional
        Simulated seconds in a second of the film; without it 1, or faster where the film would be longer than
        20 s.
    note : callable
        Gets what goes on, as words.

    Returns
    -------
    dict
        bytes, frames (pictures of the film), agents, speed, words (what is left out, as sentences).

    Raises
    ------
    CrowdsimError
        If matplotlib or ffmpeg is missing, nothing was recorded, or the film would have more than 3,000
        pictures.
    """
    animation = needed("matplotlib.animation", NO_MATPLOTLIB)
    if form == "mp4" and not animation.FFMpegWriter.isAvailable():
        raise CrowdsimError(
            "an MP4 is made by ffmpeg, which is not installed: install it (Debian: apt-get install ffmpeg), "
            "or make a GIF with --gif."
        )
    frames = recording.frames()
    if not len(frames):
        raise CrowdsimError(f"{recording.path}: holds no frame, so there is nothing to film.")
    scenario = scenario_of_run(recording.header, str(recording.path))
    shown, pace = _frames_of_film(frames["time_s"].to_numpy(), RATE[form], speed)
    figure, film = _stage(recording, scenario)
    # ffmpeg's own default takes sides of even length only.
    even = ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2"]
    writer: Any = (
        animation.PillowWriter(fps=RATE[form])
        if form == "gif"
        else animation.FFMpegWriter(
            fps=RATE[form], metadata={"comment": MARK}, extra_args=["-f", "mp4", *even]
        )
    )
    film(int(shown[0]), int(frames["tick"].iloc[0]))
    figure.draw_without_rendering()
    # found once: finding it anew for every picture takes longer than drawing
    figure.set_layout_engine("none")
    draft = out.with_name(f"{out.name}.{form}")  # writers go by the ending
    try:
        with writer.saving(figure, str(draft), DPI):
            for count, frame in enumerate(shown.tolist()):
                film(frame, int(frames["tick"].iloc[frame]))
                writer.grab_frame()
                note(f"drawing: {count + 1:,} of {len(shown):,} pictures")
        if form == "gif":
            _mark_gif(draft)
        draft.replace(out)
    finally:
        draft.unlink(missing_ok=True)
    words = [f"{pace:g} simulated seconds a second."] if pace != 1.0 else []
    return {
        "bytes": out.stat().st_size,
        "frames": len(shown),
        "agents": recording.commit.agents,
        "speed": pace,
        "words": words,
    }


def _mark_gif(film: Path) -> None:
    """Put our mark into a comment at the end of a GIF, which matplotlib has no word for."""
    with film.open("r+b") as file:
        file.seek(-1, 2)  # over its last byte, the trailer
        file.write(b"\x21\xfe" + bytes([len(MARK)]) + MARK.encode() + b"\0;")


def _frames_of_film(
    time_s: NDArray[np.float64], rate: int, speed: float | None
) -> tuple[NDArray[np.int64], float]:
    """Return the recorded frame of each picture, and how many simulated seconds are a second."""
    length = float(time_s[-1] - time_s[0])
    pace = speed if speed is not None else max(1.0, length / USUAL_SECONDS)
    count = int(length / pace * rate) + 1
    if count > MOST_PICTURES:
        least = length * rate / (MOST_PICTURES - 1)
        raise CrowdsimError(
            f"--speed {pace:g} makes a film of {count:,} pictures, but at most {MOST_PICTURES:,} are drawn. "
            f"Choose at least {least:.3g}."
        )
    times = time_s[0] + np.arange(count) * (pace / rate)
    return np.searchsorted(time_s, times + 1e-9, side="right") - 1, pace


def _stage(recording: Recording, scenario: Scenario) -> tuple[Any, Callable[[int, int], None]]:
    """Return a figure of the plan, and a function that puts people,
    doors and obstacles into it as they were in a frame and tick.
    """
    from matplotlib.collections import EllipseCollection

    geometry, bounds = scenario.geometry, bounds_of(recording, scenario.geometry)
    figure, all_axes = panels(len(geometry.grounds), bounds)
    known = {column.name for column in recording.layout.columns}
    wanted = ["x", "y", *(name for name in ("velocity", "layer") if name in known)]
    roster = recording.roster().sort_values("entity", kind="stable")
    entities, radii = roster["entity"].to_numpy(), roster["radius"].to_numpy()
    top = max(0.2, float(roster["desired_speed"].quantile(0.95)) if len(roster) else 0.2)
    crowds = []
    for layer, (axes, ground) in enumerate(zip(all_axes, plan_in_time(geometry).grounds, strict=True)):
        draw_ground(axes, ground)
        draw_goals(axes, [goal if goal.layer in (-1, layer) else None for goal in scenario.goals], {})
        crowd = EllipseCollection(
            [],
            [],
            [],
            units="xy",
            offsets=np.zeros((0, 2)),
            offset_transform=axes.transData,
            cmap="RdYlBu",
            clim=(0.0, top),
            edgecolors="#00000055",
            linewidths=0.4,
            zorder=4,
        )
        axes.add_collection(crowd)
        crowds.append(crowd)
        if geometry.floors:
            axes.set_title(geometry.floors[layer].name, fontsize=9)
    look_at(all_axes, bounds, geometry)
    title = figure.suptitle(recording.header.name, fontsize=10)
    put_things = _things(all_axes, recording, scenario)

    def film(frame: int, tick: int) -> None:
        """Show a frame."""
        rows = recording.frame_rows(frame, wanted)
        places = np.column_stack([rows["x"], rows["y"]])
        speeds = (
            np.hypot(rows["velocity_x"], rows["velocity_y"])
            if "velocity_x" in rows
            else np.full(len(places), top)
        )
        widths = 2.0 * radii[np.searchsorted(entities, rows["id"])]
        for layer, crowd in enumerate(crowds):
            mine = (
                rows["layer"] == layer
                if len(crowds) > 1 and "layer" in rows
                else np.full(len(places), layer == 0)
            )
            crowd.set(
                offsets=places[mine],
                widths=widths[mine],
                heights=widths[mine],
                angles=np.zeros(int(mine.sum())),
            )
            crowd.set_array(speeds[mine])
        put_things(tick)
        title.set_text(
            f"{recording.header.name}  |  {tick * recording.header.tick_s:.1f} s  |  {len(places):,} there"
        )

    return figure, film


def _things(all_axes: list[Any], recording: Recording, scenario: Scenario) -> Callable[[int], None]:
    """Return a function that shows doors and obstacles as they were in a tick;
    obstacles that a program sent elsewhere are left out from then on.
    """
    events = recording.events()
    turns = events[events["kind"].isin(TURNS)]
    sent = events[events["kind"] == "OBSTACLE_SENT"].groupby("value")["tick"].min().to_dict()
    areas, plan = scenario.geometry.areas, plan_in_time(scenario.geometry)
    doors = [
        [
            axes.fill(*part.exterior.xy, zorder=3.5)[0]
            for axes in (all_axes if area.layer < 0 else [all_axes[area.layer]])
            for part in shapely.get_parts(area.area)
        ]
        for area in plan.areas
    ]
    obstacles = []
    for number, obstacle in enumerate(scenario.obstacles):
        axes = all_axes[obstacle.layer] if obstacle.layer >= 0 else all_axes[0]
        obstacles.append(
            (
                obstacle,
                sent.get(number, np.inf),
                axes.fill([0.0], [0.0], color=OBSTACLE, alpha=0.8, zorder=3.6)[0],
            )
        )

    def put(tick: int) -> None:
        """Show them."""
        for is_open, patches in zip(plan.are_open(open_areas(areas, turns, tick)), doors, strict=True):
            for patch in patches:
                patch.set(
                    facecolor="none" if is_open else CLOSED + "88", edgecolor=OPEN if is_open else CLOSED
                )
        for obstacle, until, patch in obstacles:
            patch.set_visible(obstacle.is_there(tick) and tick < until)
            if patch.get_visible():
                (x, y), (along_x, along_y) = obstacle.place(tick), obstacle.direction(tick)
                turn = np.array([[along_x, along_y], [-along_y, along_x]])
                patch.set_xy(obstacle.corners @ turn + np.array([x, y]))

    return put
