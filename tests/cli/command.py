"""The real command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.cli.forked import server
from tests.crowds import ROOT


def environment(**more: str) -> dict[str, str]:
    """Return an environment in which the command of this source tree is found,
    without colours and a fixed width.
    """
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", "NO_COLOR": "1", **more}


def crowdsim(
    arguments: Sequence[str | Path], *, cwd: Path = ROOT, fresh: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run ``crowdsim`` to its end, in a process of its own that is forked where all is imported;
    with `fresh`, or any options, in one that starts anew.
    """
    words = [str(argument) for argument in arguments]
    if not fresh and not options:
        # one server for all tests
        variables = {name: value for name, value in environment().items() if name != "PYTEST_CURRENT_TEST"}
        return server(tuple(sorted(variables.items()))).run(words, cwd)
    command = [sys.executable, "-m", "crowdsim.cli", *words]
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        **options,
    )


def start(arguments: Sequence[str | Path], *, cwd: Path = ROOT, **options: Any) -> subprocess.Popen[str]:
    """Start ``crowdsim`` and return at once."""
    command = [sys.executable, "-m", "crowdsim.cli", *map(str, arguments)]
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
