"""What was typed? The ``crowdsim`` command: one file a verb, loaded when the verb is used.

A verb is a module of this package with a function of the same name that parses (by typer annotations), calls
the library, prints, and returns an exit code. `verbs` lists them with the line that ``crowdsim --help``
shows, so that the help needs none of them. What verbs share is in `crowdsim.cli.shell`.
"""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from crowdsim.old_names import OldNameWarning

# New objects after which garbage is looked for: with Python's 700 that takes a tenth of the time in which a
# command gets ready.
COLLECT_AFTER = 100_000
_usual_format = warnings.formatwarning


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command with `arguments` (default: those of the process) and leave with its exit code."""
    if arguments is None:
        gc.set_threshold(COLLECT_AFTER, 20, 20)
    from crowdsim.cli.app import build_app, usage_error
    from crowdsim.cli.shell import show_fault, show_warning

    warnings.formatwarning = _as_line
    warnings.simplefilter("default", OldNameWarning)  # plug-ins are modules, and there Python is silent
    if arguments is None:
        sys.excepthook, warnings.showwarning = show_fault, show_warning
    # No `list(...)` here: once the verb of that name is loaded, its module hides the builtin in this package.
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    try:
        code = build_app()(given, prog_name="crowdsim", standalone_mode=False)
    except Exception as error:
        code = usage_error(error, as_json="--json" in given)
        if code is None:
            raise
    sys.exit(code)


def _as_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """Return a warning as it is printed: one of ours as a sentence,
    without the place in the code that gives it; of an old name with the place where a user's code has it.
    """
    if issubclass(category, OldNameWarning):
        is_typed = Path(__file__).parents[1] in Path(filename).parents  # in the command
        return f"note: {message}\n" if is_typed else f"note: {filename}:{lineno}: {message}\n"
    if category.__module__.startswith("crowdsim."):
        return f"Warning: {message}\n"
    return _usual_format(message, category, filename, lineno, line)
