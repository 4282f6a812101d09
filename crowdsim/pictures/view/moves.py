"""Where agents were: the rows of a recording, agent by agent, thinned where they would make a page too large,
as whole numbers in as few bytes as may be.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.measures.deadlock_stuck import waits_by_design
from crowdsim.recording.reader import BLOCK_ROWS, Recording
from crowdsim.scenario.model import Scenario
from crowdsim.setup.parties import party_numbers
from crowdsim.world.columns import AgentState

if TYPE_CHECKING:
    import pandas as pd

# Places are multiples of it: no agent is farther than 1.8 mm from where it was. Finer steps cost a bit per
# coordinate and halving.
STEP_M = 0.0025
MOST_BYTES = 6  # Of one number: what a browser's numbers hold exactly, with the sign.
LIMIT = 2**46
_STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_RLE)
# Of a part, to choose by: agents differ from group to group, so one piece from the middle misleads.
_SAMPLES, _SAMPLE_BYTES = 8, 16384
_ZLIB_BEGIN = b"\x78\x9c"  # [RFC 1950]: deflate with a window of 32 KiB, no dictionary.
_ZLIB_LAST_BLOCK = b"\x03\x00"  # [RFC 1951]: the last, of fixed codes, and empty.


class Packer:
    """Collects named arrays and makes one compressed piece of them.

    Notes
    -----
    The piece unpacks to: the length of a JSON text (4 bytes, little-endian), that text, and the bytes of all
    arrays. The text has what was given to `pack` under ``facts`` and under ``arrays``, by name,
    ``[offset, count, bytes, order]``: where the bytes of an array begin, behind the text; how many numbers it
    has; how many bytes each has, all lowest ones first, then all second ones, and so on; and how often
    differences were taken. A number n is stored as 2 n, or -2 n - 1 below 0. Differences begin anew with each
    stretch of rows, of which the arrays ``stretch_length`` tells.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._table: dict[str, list[int]] = {}
        self._size = 0
        self.facts_bytes = 0  # of what is packed: those of the facts, about

    def add(
        self, name: str, values: NDArray[Any], order: int = 0, starts: NDArray[np.int64] | None = None
    ) -> None:
        """Add an array.

        Parameters
        ----------
        name : str
        values : (n,) integers, less than 2**46 from 0
        order : int, 0..2
            How often differences are taken: 1 for what changes seldom, 2 for what moves evenly.
        starts : (m,) int64, ascending, the first 0
            Rows at which differences begin anew; without it, the first row only.

        Raises
        ------
        RecordingError
            If a number is larger than any of a run.
        """
        begins = np.zeros(1, dtype=np.int64) if starts is None else starts
        planes = np.zeros((MOST_BYTES, len(values)), dtype=np.uint8)
        largest = 0
        # some rows at a time: the numbers in between take ten times what they become
        for first in range(0, len(values), BLOCK_ROWS):
            before, stop = max(0, first - order), min(first + BLOCK_ROWS, len(values))
            within = begins[np.searchsorted(begins, before, side="right") : np.searchsorted(begins, stop)]
            numbers = np.asarray(values[before:stop]).astype(np.int64)
            coded = differences(numbers, order, np.append(0, within - before))[first - before :]
            largest = max(largest, int(coded.max()), -int(coded.min()))
            folded = np.where(coded < 0, -2 * coded - 1, 2 * coded).astype("<u8")
            planes[:, first:stop] = folded.view(np.uint8).reshape(-1, 8)[:, :MOST_BYTES].T
        if largest >= LIMIT:
            raise RecordingError(
                f"The recording holds numbers up to {largest:,} where no run has them ({name}): it is "
                "damaged."
            )
        count = next((k for k in range(MOST_BYTES, 0, -1) if planes[k - 1].any()), 0)
        self._table[name] = [self._size, len(values), count, order]
        for k in range(count):
            self._parts.append(planes[k].tobytes())
            self._size += len(values)

    def pack(self, facts: Any) -> bytes:
        """Return everything as one deflated piece, with `facts` (what JSON can write) before it."""
        text = json.dumps(
            {"facts": facts, "arrays": self._table},
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        ).encode("utf-8")
        self.facts_bytes = len(zlib.compress(text))
        return deflated([len(text).to_bytes(4, "little") + text, *self._parts])


def deflated(parts: Sequence[bytes]) -> bytes:
    """Return parts as one stream of zlib, each deflated in the manner that makes samples of it smallest.

    Level 9 looks long for repeated strings, of which numbers that look random have none: what it saves is 2
    or 3 % of a page, at seven times the time. Runs of equal bytes, as the upper bytes of numbers have, take
    less as runs alone.
    """
    found, checksum = [_ZLIB_BEGIN], 1
    for part in parts:
        apart = max(_SAMPLE_BYTES, len(part) // _SAMPLES)
        sample = b"".join(part[at : at + _SAMPLE_BYTES] for at in range(0, len(part), apart))
        best = min(_STRATEGIES, key=lambda strategy: len(_segment(sample, strategy)))
        found.append(_segment(part, best))
        checksum = zlib.adler32(part, checksum)
    return b"".join([*found, _ZLIB_LAST_BLOCK, checksum.to_bytes(4, "big")])


def _segment(data: bytes, strategy: int) -> bytes:
    """Return blocks of deflate that end at a whole byte, and of which none is the last."""
    squeeze = zlib.compressobj(6, zlib.DEFLATED, -15, 9, strategy)
    return squeeze.compress(data) + squeeze.flush(zlib.Z_SYNC_FLUSH)


def differences(values: NDArray[np.int64], order: int, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return differences of numbers, taken `order` times, beginning anew at some rows.

    Parameters
    ----------
    values : (n,) int64
    order : int, 0..2
    starts : (m,) int64, ascending, the first 0

    Returns
    -------
    (n,) int64
        At a start the number itself; at the row behind it, of order 2, the first difference.
    """
    behind = np.arange(len(values)) - np.repeat(starts, np.diff(np.append(starts, len(values))))
    for step in range(order):
        values = np.where(behind <= step, values, np.diff(values, prepend=0))
    return values


def in_steps(metres: NDArray[np.float64], origin: float, step: float = STEP_M) -> NDArray[np.int64]:
    """Return coordinates as whole steps from an origin; 0 for what is no number."""
    return np.rint(
        np.nan_to_num((np.asarray(metres, dtype=np.float64) - origin) / step, nan=0.0, posinf=0.0, neginf=0.0)
    ).astype(np.int64)


# Frames are not thinned beyond one a second while agents can be: what moves on in leaps is no longer followed
# with the eye.
COARSEST_S = 1.0
STUCK_BIT = 8  # of a state: the others are the activity
WANTED = ("x", "y", "next_corner", "activity", "is_stuck", "goal", "path_status", "layer", "waits")


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
        """Return what leaves about a `factor`-th, and less in any case, where frames are `frame_s` apart:
        fewer frames first, then fewer agents.
        """
        factor = max(factor, 1.0)
        most = max(int(COARSEST_S / frame_s + 1e-9), 1)
        step = min(
            max(self.frame_step + 1, int(np.ceil(self.frame_step * factor))), max(most, self.frame_step)
        )
        rest = factor * self.frame_step / step
        agents = (
            self.agent_step
            if step > self.frame_step and rest <= 1.05
            else max(self.agent_step + 1, int(np.ceil(self.agent_step * rest)))
        )
        return Thinning(step, agents)


def kept_frames(count: int, step: int) -> NDArray[np.int64]:
    """Return the numbers of the frames that are kept: every `step`-th, and the last."""
    kept = np.arange(0, count, step, dtype=np.int64)
    return np.append(kept, count - 1) if count and kept[-1] != count - 1 else kept


def kept_agents(recording: Recording, thinning: Thinning) -> pd.DataFrame:
    """Return the roster of the agents that are kept, ascending."""
    return recording.roster().sort_values("entity", kind="stable").iloc[:: thinning.agent_step]


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
    packer: Packer,
    recording: Recording,
    scenario: Scenario,
    origin: tuple[float, float],
    thinning: Thinning,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Add to a page where agents were; return what it has of that.

    Parameters
    ----------
    packer : Packer
    recording : Recording
    scenario : Scenario
        Of the recording.
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
    last_door = max((event.tick for event in scenario.events if event.opens), default=-1)
    ticks = recording.frames()["tick"].to_numpy()
    roster = kept_agents(recording, thinning)
    entities = roster["entity"].to_numpy()
    parts = []
    for first, block in _blocks_with(recording, frames, wanted) if len(entities) else ():
        number = np.arange(first, first + len(block["id"]))
        frame = np.searchsorted(recording.frame_starts(), number, side="right") - 1
        _note_waiting(block, ticks[frame] < last_door)
        agent = np.minimum(np.searchsorted(entities, block["id"]), len(entities) - 1)
        # one that the roster does not know has no size
        keep = (place_of[frame] >= 0) & (entities[agent] == block["id"])
        parts.append(
            {
                "agent": agent[keep].astype(np.int32),
                "frame": place_of[frame[keep]].astype(np.int32),
                **_small({name: block[name][keep] for name in block}, origin),
            }
        )
        note(f"reading: {frame[-1] + 1:,} of {recording.commit.frames:,} frames")
    # column by column, each part given up as soon as it is put together: half of the memory
    names = [*parts[0]] if parts else []
    rows = {name: np.concatenate([part.pop(name) for part in parts]) for name in names}
    order = np.argsort(rows["agent"], kind="stable") if rows else np.zeros(0, dtype=np.int64)
    for name in names:
        rows[name] = rows[name][order]
    agent, frame = rows.pop("agent", order), rows.pop("frame", order)
    starts = stretches(agent, frame)
    packer.add("frame_tick", recording.frames()["tick"].to_numpy()[frames], 2)
    packer.add("stretch_agent", agent[starts], 1)
    packer.add("stretch_first", frame[starts], 0)
    packer.add("stretch_length", np.diff(np.append(starts, len(agent))), 0)
    note(f"packing {len(agent):,} places")
    for name, values in rows.items():
        packer.add(f"row_{name}", values, 2 if name in ("x", "y") else 1 if name != "state" else 0, starts)
    packer.add("agent_entity", roster["entity"].to_numpy(), 1)
    for name in ("group", "index", "scenario_id", "spawn_tick", "start_tick"):
        packer.add(f"agent_{name}", roster[name].to_numpy(), 1)
    if scenario.has_parties:
        party = party_numbers(scenario, *(roster[name].to_numpy(np.int32) for name in ("group", "index")))
        pairs = np.column_stack([roster["group"].to_numpy(), party])
        label = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
        packer.add("agent_party", np.where(party >= 0, label, -1), 1)
    packer.add("agent_radius", in_steps(roster["radius"].to_numpy(), 0.0, 0.001))
    packer.add("agent_speed", in_steps(roster["desired_speed"].to_numpy(), 0.0, 0.001))
    return {
        "columns": wanted,
        "frames": len(frames),
        "agents": len(np.unique(agent[starts])),
        "rows": len(agent),
    }


def _blocks_with(
    recording: Recording, frames: NDArray[np.int64], wanted: Sequence[str]
) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
    """Yield the pieces of the trajectory that have rows of some frames, each with its first row: of a large
    crowd few are read where few frames are kept.
    """
    starts = recording.frame_starts()
    for first in range(0, recording.commit.rows, BLOCK_ROWS):
        stop = min(first + BLOCK_ROWS, recording.commit.rows)
        # frames that are empty begin where the next one does
        behind = int(np.searchsorted(frames, np.searchsorted(starts, stop, side="left")))
        if behind and starts[frames[behind - 1] + 1] > first:
            yield first, recording.rows(first, stop, wanted)


def _note_waiting(block: dict[str, NDArray[Any]], door_opens_later: NDArray[np.bool_]) -> None:
    """Make agents that wait by design waiting ones, as those are whose premovement time is not over:
    on the page they are neither standing nor stuck.
    """
    if {"activity", "goal", "path_status"} <= block.keys():
        told, own = (block["activity"], block["goal"], block["path_status"]), block.get("waits")
        waits = waits_by_design(*told, waits=own, door_opens_later=True) & door_opens_later
        waits |= waits_by_design(*told, waits=own, door_opens_later=False)
        waits |= block["activity"] == AgentState.RIDING
        block["activity"] = np.where(waits, np.uint8(AgentState.WAITING), block["activity"])
        if "is_stuck" in block:
            block["is_stuck"] = np.where(waits, 0, block["is_stuck"])


def _small(block: dict[str, NDArray[Any]], origin: tuple[float, float]) -> dict[str, NDArray[Any]]:
    """Return the columns of a page as whole numbers: a corner that is none is where the agent stands."""
    found = {
        "x": in_steps(block["x"], origin[0]).astype(np.int32),
        "y": in_steps(block["y"], origin[1]).astype(np.int32),
    }
    if "next_corner_x" in block:
        is_corner = np.isfinite(block["next_corner_x"]) & np.isfinite(block["next_corner_y"])
        for axis, start in zip("xy", origin, strict=True):
            found[f"corner_{axis}"] = np.where(
                is_corner, in_steps(block[f"next_corner_{axis}"], start), found[axis]
            ).astype(np.int32)
    if "activity" in block or "is_stuck" in block:
        activity = block["activity"] if "activity" in block else np.ones(len(block["x"]), dtype=np.uint8)
        found["state"] = np.asarray(activity, dtype=np.uint8)
        if "is_stuck" in block:
            found["state"] = found["state"] | (
                np.asarray(block["is_stuck"] == 1, dtype=np.uint8) * np.uint8(STUCK_BIT)
            )
    for name in ("goal", "layer"):
        if name in block:
            found[name] = block[name].astype(np.int32)
    return found
