"""Where agents were: the rows of a recording, agent by agent, thinned where they would make a page too large."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.pictures.view.packing import Packer, in_steps
from crowdsim.recording.reader import Recording

COARSEST_S = 1.0  # Frames are not thinned beyond one a second while agents can be: what moves on in leaps is no longer followed with the eye.
STUCK_BIT = 8  # of a state: the others are the activity
WANTED = ("x", "y", "next_corner", "activity", "is_stuck", "goal", "layer")


@dataclass(frozen=True)
class Thinning:
    """What of a recording is kept.

    Attributes
    ----------
    frame_step : int
        Every so many frames, and the last.
    agent_step : int
        Every so many agents.
    """

    frame_step: int = 1
    agent_step: int = 1

    def coarser(self, factor: float, frame_s: float) -> Thinning:
        """Return what leaves about a `factor`-th, and less in any case, where frames are `frame_s` apart: fewer frames first, then fewer agents."""
        factor = max(factor, 1.0)
        most = max(int(COARSEST_S / frame_s + 1e-9), 1)
        step = min(max(self.frame_step + 1, int(np.ceil(self.frame_step * factor))), max(most, self.frame_step))
        rest = factor * self.frame_step / step
        agents = self.agent_step if step > self.frame_step and rest <= 1.05 else max(self.agent_step + 1, int(np.ceil(self.agent_step * rest)))
        return Thinning(step, agents)


def kept_frames(count: int, step: int) -> NDArray[np.int64]:
    """Return the numbers of the frames that are kept: every `step`-th, and the last."""
    kept = np.arange(0, count, step, dtype=np.int64)
    return np.append(kept, count - 1) if count and kept[-1] != count - 1 else kept


def stretches(agent: NDArray[np.int64], frame: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows at which an agent begins to be there without a gap.

    Parameters
    ----------
    agent, frame : (n,) int64
        Ascending by agent, then by frame.

    Returns
    -------
    (m,) int64
        The first is 0 where there are rows.
    """
    if not len(agent):
        return np.zeros(0, dtype=np.int64)
    begins = np.append(True, (np.diff(agent) != 0) | (np.diff(frame) != 1))
    return np.flatnonzero(begins)


def add_moves(
    packer: Packer, recording: Recording, origin: tuple[float, float], thinning: Thinning, note: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Add to a page where agents were; return what it has of that.

    Parameters
    ----------
    packer : Packer
    recording : Recording
    origin : (x, y), m
        Places are counted from here.
    thinning : Thinning
    note : callable
        Gets what goes on, as words.

    Returns
    -------
    dict
        columns (recorded ones that are in the page), frames, agents, rows.
    """
    known = {column.name for column in recording.layout.columns} | {"x", "y"}
    wanted = [name for name in WANTED if name in known]
    frames = kept_frames(recording.commit.frames, thinning.frame_step)
    place_of = np.full(recording.commit.frames, -1, dtype=np.int64)
    place_of[frames] = np.arange(len(frames))
    roster = recording.roster().sort_values("entity", kind="stable")
    entities = roster["entity"].to_numpy()
    parts, row = [], 0
    for block in recording.blocks(wanted) if len(entities) else ():
        number = np.arange(row, row + len(block["id"]))
        row += len(number)
        frame = np.searchsorted(recording.frame_starts(), number, side="right") - 1
        agent = np.minimum(np.searchsorted(entities, block["id"]), len(entities) - 1)
        keep = (place_of[frame] >= 0) & (agent % thinning.agent_step == 0) & (entities[agent] == block["id"])  # one that the roster does not know has no size
        parts.append({"agent": agent[keep], "frame": place_of[frame[keep]], **_small({name: block[name][keep] for name in block}, origin)})
        note(f"reading: {frame[-1] + 1:,} of {recording.commit.frames:,} frames")
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}
    order = np.argsort(rows["agent"], kind="stable") if rows else np.zeros(0, dtype=np.int64)
    rows = {name: values[order] for name, values in rows.items()}
    agent, frame = rows.pop("agent", order), rows.pop("frame", order)
    starts = stretches(agent, frame)
    packer.add("frame_tick", recording.frames()["tick"].to_numpy()[frames], 2)
    packer.add("stretch_agent", agent[starts], 1)
    packer.add("stretch_first", frame[starts], 0)
    packer.add("stretch_length", np.diff(np.append(starts, len(agent))), 0)
    note(f"packing {len(agent):,} places")
    for name, values in rows.items():
        packer.add(f"row_{name}", values, 2 if name in ("x", "y") else 1 if name != "state" else 0, starts)
    _add_roster(packer, roster)
    return {"columns": wanted, "frames": len(frames), "agents": len(np.unique(agent)), "rows": len(agent)}


def _small(block: dict[str, NDArray[Any]], origin: tuple[float, float]) -> dict[str, NDArray[Any]]:
    """Return the columns of a page as whole numbers: a corner that is none is where the agent stands."""
    found = {"x": in_steps(block["x"], origin[0]).astype(np.int32), "y": in_steps(block["y"], origin[1]).astype(np.int32)}
    if "next_corner_x" in block:
        is_corner = np.isfinite(block["next_corner_x"]) & np.isfinite(block["next_corner_y"])
        for axis, start in zip("xy", origin, strict=True):
            found[f"corner_{axis}"] = np.where(is_corner, in_steps(block[f"next_corner_{axis}"], start), found[axis]).astype(np.int32)
    if "activity" in block or "is_stuck" in block:
        activity = block["activity"] if "activity" in block else np.ones(len(block["x"]), dtype=np.uint8)
        found["state"] = np.asarray(activity, dtype=np.uint8)
        if "is_stuck" in block:
            found["state"] = found["state"] | (np.asarray(block["is_stuck"] == 1, dtype=np.uint8) * np.uint8(STUCK_BIT))
    for name in ("goal", "layer"):
        if name in block:
            found[name] = block[name].astype(np.int32)
    return found


def _add_roster(packer: Packer, roster: Any) -> None:
    packer.add("agent_entity", roster["entity"].to_numpy(), 1)
    for name in ("group", "index", "scenario_id", "spawn_tick", "start_tick"):
        packer.add(f"agent_{name}", roster[name].to_numpy(), 1)
    packer.add("agent_radius", in_steps(roster["radius"].to_numpy(), 0.0, 0.001))
    packer.add("agent_speed", in_steps(roster["desired_speed"].to_numpy(), 0.0, 0.001))
