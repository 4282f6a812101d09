"""What verbs share: printing, tables, JSON, and turning errors into messages and exit codes."""

from __future__ import annotations

import contextlib
import functools
import json as json_module
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import typer

from crowdsim.errors import CrowdsimError, ExitCode, ScenarioError


class OutputLost(CrowdsimError):
    """What a verb prints could not be written: the disk is full."""

    exit_code = ExitCode.RECORDING


def say(text: str = "") -> None:
    """Print a line for the user or a pipe."""
    with output():
        sys.stdout.write(_printable(text, sys.stdout) + "\n")


@contextlib.contextmanager
def output() -> Iterator[None]:
    """Tell a reader that has gone from a disk that is full; what is left in the buffer is thrown away, since Python would try again at exit."""
    try:
        yield
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputLost(f"The output cannot be written ({error.strerror}).") from None


def complain(text: str) -> None:
    """Print a line about an error."""
    sys.stderr.write(_printable(text, sys.stderr) + "\n")


def _printable(text: str, stream: Any) -> str:
    """Return text that the stream's encoding can hold: a terminal without Unicode shows ``?``, it does not end the program."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def say_json(value: Any) -> None:
    """Print a value as JSON: indented, keys in their order, numbers that are not finite refused."""
    say(json_module.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def terminal_width() -> int:
    """Return how many characters a line of output may have; 120 where it is not a terminal."""
    return max(60, shutil.get_terminal_size((120, 24)).columns)


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = (), limit: int | None = None) -> str:
    """Return rows as aligned columns; lines are cut off at the terminal's width.

    Parameters
    ----------
    headers : sequence of str
    rows : sequence of sequences
        Values are shown as `str` shows them.
    right : sequence of int
        Columns that are aligned on the right: numbers.
    limit : int, optional
        Width in place of the terminal's: of a table in which nothing can be done without.
    """
    limit = terminal_width() if limit is None else limit
    cells = [[str(value) for value in row] for row in (headers, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    lines = []
    for row in cells:
        parts = [value.rjust(width) if column in right else value.ljust(width) for column, (value, width) in enumerate(zip(row, widths, strict=True))]
        line = "  ".join(parts).rstrip()
        lines.append(line if len(line) <= limit else line[: limit - 3] + "...")
    return "\n".join(lines)


def wrapped(text: str, indent: str) -> str:
    """Return a paragraph broken at the terminal's width, each line after `indent`."""
    return textwrap.fill(text, width=min(terminal_width(), 120), initial_indent=indent, subsequent_indent=indent)


def problem_rows(error: ScenarioError) -> list[dict[str, Any]]:
    """Return the problems of a scenario as plain values for JSON."""
    return [asdict(problem) for problem in error.problems]


def print_error(error: CrowdsimError, *, as_json: bool = False) -> None:
    """Print what went wrong: as text to standard error, or as JSON to standard output."""
    if as_json and not isinstance(error, OutputLost):
        problems = problem_rows(error) if isinstance(error, ScenarioError) else [{"message": str(error)}]
        say_json({"ok": False, "problems": problems})
        return
    complain(str(error))
    if isinstance(error, ScenarioError) and len(error.problems) > 1:
        complain(f"{len(error.problems)} problems")


def guarded(function: Callable[..., Any]) -> Callable[..., None]:
    """Return a verb's function as typer needs it: a returned number becomes the exit code, our own errors a message, Ctrl-C code 130.

    A verb with the option `json` prints its errors as JSON too when that is set.
    """

    @functools.wraps(function)
    def verb(*arguments: Any, **options: Any) -> None:
        """Call the verb and leave with its code."""
        code: int = ExitCode.OK
        try:
            code = function(*arguments, **options) or ExitCode.OK
            with output():
                sys.stdout.flush()
        except CrowdsimError as error:
            print_error(error, as_json=bool(options.get("json")))
            code = error.exit_code
        except KeyboardInterrupt:
            complain("interrupted")
            code = ExitCode.INTERRUPTED
        except BrokenPipeError:
            pass  # the reader of a pipe has gone (crowdsim ... | head)
        raise typer.Exit(int(code))

    return verb
