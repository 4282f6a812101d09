"""What a recording holds: names, types, units and numbers that are part of the file format.

Nothing here may change without raising `FORMAT_VERSION`; new columns, counts and datasets may be added
freely, readers take what they find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from crowdsim.avoidance.explain import REASON_DTYPE
from crowdsim.world.events import EventKind as EventKind  # its numbers are part of the format

FORMAT = "crowdsim recording"
# 2: the trace has an entry where a system changed a column; in 1 it had one wherever a system might have
FORMAT_VERSION = 2

# Every field has eight bytes: the byte shuffle then works on whole machine words, and no reader meets an
# unsigned frame number that wraps below zero.
TRAJECTORY_DTYPE = np.dtype([("frame", "<i8"), ("id", "<i8"), ("x", "<f8"), ("y", "<f8"), ("z", "<f8")])
TRAJECTORY_UNITS = {"frame": "", "id": "", "x": "m", "y": "m", "z": "m"}

EVENT_DTYPE = np.dtype(
    [("tick", "<i8"), ("entity", "<i8"), ("kind", "<i8"), ("value", "<i8"), ("x", "<f8"), ("y", "<f8")]
)
EVENT_UNITS = {
    "tick": "tick",
    "entity": "",
    "kind": "",
    "value": "see EventKind",
    "x": "m (PATH_FOUND: length of the path)",
    "y": "m (PATH_FOUND: 0)",
}

ROSTER_DTYPE = np.dtype(
    [
        ("entity", "<i8"),
        ("key", "<u8"),
        ("scenario_id", "<i8"),
        ("group", "<i8"),
        ("index", "<i8"),
        ("radius", "<f8"),
        ("desired_speed", "<f8"),
        ("maximum_speed", "<f8"),
        ("spawn_tick", "<i8"),
        ("start_tick", "<i8"),
    ]
)
ROSTER_UNITS = {
    "entity": "",
    "key": "",
    "scenario_id": "explicit id of the agent in the scenario; -1 is none",
    "group": "index into header.groups",
    "index": "index in the group",
    "radius": "m",
    "desired_speed": "m/s",
    "maximum_speed": "m/s",
    "spawn_tick": "tick",
    "start_tick": "tick",
}

EXPLANATION_DTYPE = np.dtype(
    [("tick", "<i8"), *((name, REASON_DTYPE[name].str) for name in REASON_DTYPE.names or ())]
)
EXPLANATION_UNITS = {
    "tick": "tick",
    "entity": "",
    "kind": "see Reason",
    "other": "entity that imposes it; -1 a wall, 0 none",
    "binds": "1 for the one that bound the velocity",
    **dict.fromkeys(("x", "y"), "m/s"),
    **dict.fromkeys(("a_x", "a_y", "b_x", "b_y"), ""),
    "value": "see Reason",
}

COMMIT_WORDS = 16  # of a commit record; the fields of `commit.Commit`, then zeros, the last a checksum

TRACE_DTYPE = np.dtype(
    [
        ("tick", "<i8"),
        ("system", "<i8"),
        ("column", "<i8"),
        ("rows", "<i8"),
        ("start", "<i8"),
        ("count", "<i8"),
    ]
)
# Agents a digest of a traced run covers. Smaller names fewer suspects and makes larger files.
TRACE_BLOCK_ROWS = 64


class RunState(IntEnum):
    """How a recording ended; part of every commit record."""

    RUNNING = 0  # being written, or cut off by a kill
    FINISHED = 1  # the run came to its end
    INTERRUPTED = 2  # stopped before its end (Ctrl-C, time limit, full disk); everything until then is there
    RECOVERED = 3  # made whole by `crowdsim recover` from a file that was cut off


@dataclass(frozen=True)
class RecordedColumn:
    """A column that is kept for every agent in every frame.

    Attributes
    ----------
    name : str
        Name of the dataset below ``agents/``.
    dtype : str
        Type in the file; sources are converted to it.
    unit, about : str
    width : int
        1 for a scalar per agent, 2 for a vector.
    exact : str
        Type in the file of an exact recording (`Header.exact`); empty is `dtype`.
    resolution : float, in `unit`
        Values are rounded to multiples of it unless the recording is exact; 0 keeps them as they are. Digits
        that nobody reads do not shrink: they are half of a file. A power of two, so that multiples are exact.
    """

    name: str
    dtype: str
    unit: str
    about: str
    width: int = 1
    exact: str = ""
    resolution: float = 0.0

    def stored_dtype(self, exact: bool) -> np.dtype:
        """Return the little-endian type in the file."""
        return np.dtype(self.exact if exact and self.exact else self.dtype).newbyteorder("<")

    def field_names(self) -> tuple[str, ...]:
        """Return the names of the DataFrame columns: the name, or name_x and name_y for a vector."""
        return (self.name,) if self.width == 1 else (f"{self.name}_x", f"{self.name}_y")


@dataclass(frozen=True)
class RecordedCount:
    """A number that is kept for every tick, in the dataset ``ticks``."""

    name: str
    unit: str
    about: str
    dtype: str = "int64"


# 0.06 mm/s: far below the 20 mm/s on average that count as standing still. Larger shows in accelerations
# between frames.
VELOCITY_RESOLUTION_M_S = 2.0**-14
# 1 mm: a corner is looked at, never computed with. A float32 knows that up to 8 km from the origin
# (`fitted`); at map coordinates of 5e6 m, half metres.
CORNER_RESOLUTION_M = 2.0**-10
# 1 mm, in a float32 up to 16 km of path: a two-hundredth of the progress by which stuck agents are found.
LENGTH_RESOLUTION_M = 2.0**-10
HEADING_RESOLUTION = 2.0**-8  # A quarter of a degree: finer than the eye sees.

STANDARD_COLUMNS = (
    RecordedColumn(
        "velocity",
        "float32",
        "m/s",
        "velocity of the last step",
        width=2,
        exact="float64",
        resolution=VELOCITY_RESOLUTION_M_S,
    ),
    RecordedColumn(
        "preferred_velocity",
        "float32",
        "m/s",
        "what the agent would do alone",
        width=2,
        exact="float64",
        resolution=VELOCITY_RESOLUTION_M_S,
    ),
    RecordedColumn(
        "next_corner",
        "float64",
        "m",
        "point that the agent steers at",
        width=2,
        exact="float64",
        resolution=CORNER_RESOLUTION_M,
    ),
    RecordedColumn(
        "heading",
        "float32",
        "",
        "unit vector that the agent faces",
        width=2,
        exact="float64",
        resolution=HEADING_RESOLUTION,
    ),
    RecordedColumn("gait", "uint8", "", "Gait: whether it goes somewhere by itself"),
    RecordedColumn("activity", "uint8", "", "AgentState"),
    RecordedColumn("path_status", "uint8", "", "PathStatus of the last request"),
    RecordedColumn("path_tick", "int32", "tick", "when that status was set; -1 is never"),
    RecordedColumn("diagnosis", "uint8", "", "Diagnosis of the last avoidance"),
    RecordedColumn(
        "blocker", "int64", "", "entity whose constraint bound the velocity; 0 is none, -1 a wall"
    ),
    RecordedColumn("neighbour_count", "int16", "", "neighbours that the last avoidance heeded"),
    RecordedColumn(
        "samples", "int16", "", "velocities that the last avoidance tried; 0 by models that try none"
    ),
    RecordedColumn("surface", "int64", "", "handle of the polygon under the centre; 0 is nowhere"),
    RecordedColumn("layer", "int32", "", "floor of that polygon"),
    RecordedColumn("goal", "int32", "", "index of the current goal; -1 is none"),
    RecordedColumn("nudges", "int32", "", "how often the agent was asked aside"),
    RecordedColumn("replans", "int32", "", "how often the agent asked for a new path"),
    RecordedColumn("local_path", "uint8", "", "what the local grid says of the line to the next corner"),
    RecordedColumn("is_stuck", "uint8", "", "1 while progress along the path stays below 0.2 m for 10 s"),
    RecordedColumn(
        "remaining",
        "float32",
        "m",
        "length of the path ahead; nan is not known",
        exact="float64",
        resolution=LENGTH_RESOLUTION_M,
    ),
    RecordedColumn(
        "progress",
        "float32",
        "m",
        "by how much the least remaining length has fallen so far",
        exact="float64",
        resolution=LENGTH_RESOLUTION_M,
    ),
)

# Kept as well where machines of states say what agents do.
MACHINE_COLUMNS = (
    RecordedColumn("machine_state", "int32", "", "number of the state of its machine; -1 is none"),
    RecordedColumn("waits", "uint8", "", "Wait: what it waits for by design; 0 is nothing"),
)

# Kept as well where agents form parties.
PARTY_COLUMNS = (
    RecordedColumn("party", "int32", "", "number of its party in its group; -1 is none"),
    MACHINE_COLUMNS[-1],
)

# Kept as well where there are connections.
RIDING_COLUMNS = (
    MACHINE_COLUMNS[-1],
    RecordedColumn("ride_step", "uint8", "", "RideStep: 1 comes to a gate, 2 waits, 3 rides, 4 comes out"),
    RecordedColumn("gate", "int32", "", "number of that gate, those of all connections in turn; -1 is none"),
)


def columns_kept(
    *, has_machines: bool, has_parties: bool, has_connections: bool
) -> tuple[RecordedColumn, ...]:
    """Return what a recording can hold beside the position."""
    more = (
        *(MACHINE_COLUMNS if has_machines else ()),
        *(PARTY_COLUMNS if has_parties else ()),
        *(RIDING_COLUMNS if has_connections else ()),
    )
    return tuple(dict.fromkeys((*STANDARD_COLUMNS, *more)))


# Kept as well where a run is traced with all columns: with them every column of the digests can be shown
# agent by agent.
TRACED_COLUMNS = (
    RecordedColumn("chosen_velocity", "float64", "m/s", "what avoidance chose", width=2),
    RecordedColumn(
        "corridor_length", "int32", "", "portals, cells or corners of the path that are still ahead"
    ),
)


def fitted(column: RecordedColumn, farthest_m: float) -> RecordedColumn:
    """Return a column as it is stored where no coordinate is farther than `farthest_m` from 0:
    in float32 if that still has its resolution.
    """
    is_place = column.unit == "m" and column.dtype == "float64" and column.resolution > 0.0
    return (
        replace(column, dtype="float32") if is_place and farthest_m < column.resolution * 2.0**23 else column
    )


def check_names(kind: str, names: Sequence[str]) -> None:
    """Raise ValueError unless `names` are distinct and usable as names of datasets and DataFrame columns."""
    for name in names:
        if not name or "/" in name or "." in name or "\0" in name:
            raise ValueError(f"{kind} {name!r}: a name is not empty and has neither slash nor point")
    if len(set(names)) != len(names):
        raise ValueError(f"{kind} names repeat: {', '.join(names)}")


def digest_text(value: int) -> str:
    """Return a digest as the 16 hexadecimal digits that people see."""
    return f"{int(value):016x}"
