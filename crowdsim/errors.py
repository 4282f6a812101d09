"""The errors that the package raises on purpose, and the exit codes of the command.

A user's mistake is raised at the border (scenario file, command line, recording) as one of these and printed
without a traceback. Anything else that escapes is a fault of the program.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """What the `crowdsim` command returns; listed for users in docs/reference/exit-codes.md."""

    # the verb did what it was asked; a run: everybody arrived or the run reached its end as the scenario says
    OK = 0
    FAULT = 1  # a fault of the program (traceback)
    USAGE = 2  # wrong arguments, or a scenario with mistakes
    # a run ended whole, but somebody was stuck, had no path, or ran out of time; `deadlocks`: somebody was
    # deadlocked
    NOT_ARRIVED = 3
    RECORDING = 4  # a recording cannot be read or written (damaged, disk full)
    NAME_TAKEN = 5  # the run is whole, but what had its name cannot be set aside: it has another name
    DIFFERENT = 6  # `verify` or `compare` found a difference
    TIME_LIMIT = 7  # stopped by --time-limit; the recording is readable
    # a sweep ended, but some of its runs failed: they crashed, hung, asked for too much memory, or could not
    # be built
    RUNS_FAILED = 8
    # a sweep's cluster cannot be reached, has no workers that could do the runs, or was lost; what has
    # finished is kept
    CLUSTER = 9
    INTERRUPTED = 130  # stopped by Ctrl-C or SIGTERM; the recording is readable


class CrowdsimError(Exception):
    """Base of all errors that a user can cause; `exit_code` is what the command returns for it."""

    exit_code = ExitCode.USAGE


def needed(module: str, without: str) -> Any:
    """Return a module that an extra brings; raise `CrowdsimError` with the words for its absence."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise CrowdsimError(without) from None


@dataclass(frozen=True)
class Problem:
    """One mistake in a scenario.

    Attributes
    ----------
    item : str
        Path of the item as a user writes it, for example ``groups[2].radius``; empty for the file as a whole.
    message : str
        What is wrong, with the numbers.
    way_out : str
        What to do about it; may be empty.
    file, line, column : str, int, int
        Where it stands; lines and columns count from 1, 0 where unknown.
    """

    item: str
    message: str
    way_out: str = ""
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        where = self.file
        if self.line:
            where += f":{self.line}:{self.column}"
        head = f"{where}: " if where else ""
        item = f"{self.item}: " if self.item else ""
        return f"{head}{item}{self.message}" + (f"\n    {self.way_out}" if self.way_out else "")


class ScenarioError(CrowdsimError):
    """A scenario has mistakes; all that were found are in `problems`,
    in the order in which they stand in the file.
    """

    def __init__(self, problems: list[Problem] | Problem | str) -> None:
        if isinstance(problems, str):
            problems = [Problem(item="", message=problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class NavigationError(CrowdsimError):
    """Geometry from which no mesh can be made, or a query that makes no sense on it."""


class RecordingError(CrowdsimError):
    """A recording that cannot be read or written."""

    exit_code = ExitCode.RECORDING


class DivergenceError(CrowdsimError):
    """A run that was to be the same as another is not."""

    exit_code = ExitCode.DIFFERENT


class ClusterError(CrowdsimError):
    """A cluster that cannot be reached, or whose workers cannot do what they are to do."""

    exit_code = ExitCode.CLUSTER
