"""What verbs share: printing, tables, JSON, and turning errors into messages and exit codes."""

from __future__ import annotations

import contextlib
import functools
import json as json_module
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

import typer

from crowdsim.errors import CrowdsimError, ExitCode, RecordingError, ScenarioError
from crowdsim.printable import visible, without_nan


class OutputLost(CrowdsimError):
    """What a verb prints could not be written: the disk is full."""

    exit_code = ExitCode.RECORDING


def say(text: str = "") -> None:
    """Print a line for the user or a pipe."""
    with output():
        sys.stdout.write(printable(text, sys.stdout) + "\n")


@contextlib.contextmanager
def output() -> Iterator[None]:
    """Tell a reader that has gone from a disk that is full;
    what is left in the buffer is thrown away, since Python would try again at exit.
    """
    try:
        yield
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputLost(f"The output cannot be written ({error.strerror}).") from None


def complain(text: str) -> None:
    """Print a line about an error."""
    sys.stderr.write(printable(text, sys.stderr) + "\n")


def complain_of(notes: Iterable[Any]) -> None:
    """Print notes: what is odd, and stops nothing."""
    for note in notes:
        complain(f"note: {note}")


def printable(text: str, stream: Any) -> str:
    """Return text as it may reach a stream: everything that is printed goes through here.

    Names come from files, and files from strangers: what a terminal would obey is made visible
    (`crowdsim.printable`), all but the ends of lines and tabs. What the stream's encoding cannot hold becomes
    ``?``; it does not end the program.
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return visible(text, keep="\n\t").encode(encoding, "replace").decode(encoding)


def show_fault(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Print the traceback of a fault of the program: what it says may be a name out of a file, too."""
    import traceback

    complain("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"))


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Print a warning of a library as Python does."""
    import warnings

    complain(warnings.formatwarning(message, category, filename, lineno, line).rstrip("\n"))


def say_json(value: Any) -> None:
    """Print a value as JSON: indented, keys in their order, numbers that are not finite refused."""
    say(json_module.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def tell(facts: Any, as_json: bool, text: Callable[[], str]) -> None:
    """Print facts, as JSON for programs, where what is no number is null, or as the text that `text` makes
    for people.
    """
    if as_json:
        say_json(without_nan(facts))
    else:
        say(text())


def terminal_width() -> int:
    """Return how many characters a line of output may have; 120 where it is not a terminal."""
    return max(60, shutil.get_terminal_size((120, 24)).columns)


def line_limit() -> int:
    """Return how many characters a line of a table may have: without a terminal any number."""
    return terminal_width() if sys.stdout.isatty() else sys.maxsize


# characters to which a narrow terminal makes a column of texts, and the head of one of numbers
LEAST_COLUMN, LEAST_HEAD = 10, 8


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = ()) -> str:
    """Return rows as aligned columns. Nothing is cut off: where the terminal is too narrow, texts go on in
    further lines of their column.

    Parameters
    ----------
    headers : sequence of str
    rows : sequence of sequences
        Values are shown as `str` shows them.
    right : sequence of int
        Columns that are aligned on the right: numbers, which stay in one piece; their heads need not.
    """
    cells = [[visible(str(value)) for value in row] for row in (headers, *rows)]
    widths = _fitted(cells, right)
    lines = []
    for row in cells:
        pieces = [
            [value] if len(value) <= width else _broken(value, width)
            for value, width in zip(row, widths, strict=True)
        ]
        for parts in zip_longest(*pieces, fillvalue=""):
            aligned = [
                part.rjust(width) if column in right else part.ljust(width)
                for column, (part, width) in enumerate(zip(parts, widths, strict=True))
            ]
            lines.append("  ".join(aligned).rstrip())
    return "\n".join(lines)


def _broken(text: str, width: int) -> list[str]:
    """Return a text in lines, those of a name such as mean_speed_m_s broken behind its points and strokes."""
    lines = textwrap.wrap(text if " " in text else re.sub(r"([._])(?=\w)", r"\1 ", text), width)
    return lines if " " in text else [line.replace("_ ", "_").replace(". ", ".") for line in lines]


def _fitted(cells: Sequence[Sequence[str]], right: Sequence[int]) -> list[int]:
    """Return the widths of columns of which the widest are narrowed until a line fits, texts in all their
    cells and numbers in their heads; as narrow as can be if it never does.
    """
    columns = [[len(value) for value in column] for column in zip(*cells, strict=True)]
    least = [
        max([min(LEAST_HEAD, column[0]), *column[1:]]) if number in right else max(LEAST_COLUMN, column[0])
        for number, column in enumerate(columns)
    ]
    fitted = [max(column) for column in columns]
    while sum(fitted) + 2 * len(fitted) - 2 > line_limit():
        wide = [number for number, width in enumerate(fitted) if width > max(1, least[number])]
        if not wide:
            break
        fitted[max(wide, key=lambda number: fitted[number])] -= 1
    return fitted


def wrapped(text: str, indent: str) -> str:
    """Return a paragraph broken at the terminal's width, each line after `indent`;
    a key such as [Weidmann 1993] stays whole.
    """
    whole = re.sub(r"\[[\w .]+\]", lambda match: match[0].replace(" ", "\0"), text)
    return textwrap.fill(
        whole, width=min(terminal_width(), 120), initial_indent=indent, subsequent_indent=indent
    ).replace("\0", " ")


def print_error(error: CrowdsimError, *, as_json: bool = False) -> None:
    """Print what went wrong: as text to standard error, or as JSON to standard output."""
    notes = notes_of(error)
    if as_json and not isinstance(error, OutputLost):
        problems = (
            [asdict(problem) for problem in error.problems]
            if isinstance(error, ScenarioError)
            else [{"message": str(error)}]
        )
        say_json({"ok": False, "problems": problems, **({"notes": notes} if notes else {})})
        return
    complain("\n".join([str(error), *notes]))
    if isinstance(error, ScenarioError) and len(error.problems) > 1:
        complain(f"{len(error.problems)} problems")


def notes_of(error: BaseException) -> list[str]:
    """Return what was noted of an error on its way:
    a second one that came of it, or what can be done with what is left.
    """
    return [str(note) for note in getattr(error, "__notes__", ())]


def note_what_is_left(error: CrowdsimError, names: Iterable[Any]) -> None:
    """Note on an error what can be done with what stopped runs have left,
    if any of them was to have one of these names.
    """
    from crowdsim.recording.files import out_of, partials_of
    from crowdsim.simulation.going_on import runs_of

    for name in names:
        if isinstance(name, Path) and (out_of(name) is not None or partials_of(name)):
            for run in runs_of(name):
                note_steps(error, run.steps())


def note_steps(error: CrowdsimError, steps: Iterable[tuple[str, str]]) -> None:
    """Note on an error what can be done, in words and by which command; what it says already is left out."""
    text = "\n".join([str(error), *notes_of(error)])
    for what, how in steps:
        if how not in text:
            error.add_note(f"{what}: {how}")


def guarded(function: Callable[..., Any]) -> Callable[..., None]:
    """Return a verb's function as typer needs it:
    a returned number becomes the exit code, our own errors a message, Ctrl-C code 130.

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
            if isinstance(error, RecordingError) and not isinstance(error, OutputLost):
                note_what_is_left(error, [*arguments, *options.values()])
            print_error(error, as_json=bool(options.get("json")))
            code = error.exit_code
        except KeyboardInterrupt as stop:
            complain("\n".join(["interrupted", *notes_of(stop)]))
            code = ExitCode.INTERRUPTED
        except BrokenPipeError:
            pass  # the reader of a pipe has gone (crowdsim ... | head)
        except OSError as error:
            # of the machine, not of the program: no folder, no right, no room, a name that is too long
            if error.filename is None:
                raise
            print_error(
                RecordingError(f"{os.fsdecode(error.filename)}: {error.strerror}."),
                as_json=bool(options.get("json")),
            )
            code = ExitCode.RECORDING
        raise typer.Exit(int(code))

    return verb
