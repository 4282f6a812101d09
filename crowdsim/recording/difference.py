"""What is said of two recordings that part."""

from __future__ import annotations

from dataclasses import dataclass

SHOWN_VALUES = 5  # Agents named in a difference. More than a few say nothing new: what differs spreads to the neighbours.

Names = tuple[str, str]
NAMES: Names = ("recorded", "now")


@dataclass(frozen=True)
class ValueDifference:
    """A number that two recordings keep differently.

    Attributes
    ----------
    entity : int
    column : str
        Name of the DataFrame column.
    recorded, fresh : float or int
    """

    entity: int
    column: str
    recorded: float | int
    fresh: float | int


@dataclass(frozen=True)
class Difference:
    """The first difference of two recordings.

    Attributes
    ----------
    tick : int
    column : str
        The column of the world that differs; empty if the runs differ in something else.
    what : str
        The difference in words.
    recorded, fresh : int
        The two digests; 0 where there are none.
    system : str
        The system after which the column differed first; empty if the recordings are not traced.
    rows : tuple of int
        Traced: first row of the world in the block of the first difference, and the row behind its last; (0, 0) if unknown.
    rows_in_all : int
        Traced: rows of the world at that time; 0 if unknown.
    entities : tuple of int
        Traced: the agents in these rows, if the next frame has all agents that were in the world then.
    values : tuple of ValueDifference
        Recorded values that differ, in the frame of that tick or the next one that both recordings have: those of the column and of the block first.
    values_tick : int
        The tick of that frame; -1 if there is none.
    names : tuple of str
        What the two recordings are called.
    """

    tick: int
    column: str
    what: str
    recorded: int = 0
    fresh: int = 0
    system: str = ""
    rows: tuple[int, int] = (0, 0)
    rows_in_all: int = 0
    entities: tuple[int, ...] = ()
    values: tuple[ValueDifference, ...] = ()
    values_tick: int = -1
    names: Names = NAMES

    @property
    def agent(self) -> int:
        """Entity of the first agent that is known to differ; 0 if none is."""
        return self.values[0].entity if self.values else 0

    def __str__(self) -> str:
        lines = [f"tick {self.tick}: {self.what}"]
        if self.system:
            rows = f", in rows {self.rows[0]} to {self.rows[1] - 1}" if self.rows[1] else ""
            agents = f" (agents {self.entities[0]} to {self.entities[-1]})" if self.entities else ""
            lines.append(f"    first after system {self.system}{rows}{agents}")
        at, (one, other) = f"at tick {self.values_tick}", self.names
        lines += [f"    agent {value.entity}, {value.column} {at}: {one} {value.recorded!r}, {other} {value.fresh!r}" for value in self.values]
        return "\n".join(lines)
