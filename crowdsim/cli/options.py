"""Options that several verbs take in the same way."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from crowdsim.errors import CrowdsimError

SetValues = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the scenario, for example --set groups.0.count=200; may be repeated."),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed, instead of the scenario's.")]
AllowDir = Annotated[
    list[Path] | None,
    typer.Option("--allow-dir", metavar="DIR", help="Folder, beside the scenario's own, from which it may name files; may be repeated."),
]

Plugins = Annotated[
    list[Path] | None,
    typer.Option("--plugin", metavar="FILE", help="Python file with an avoidance model or a system of your own; it is run. May be repeated."),
]

CheckpointEvery = Annotated[
    str | None,
    typer.Option("--checkpoint-every", metavar="SECONDS", help="Keep the state beside the recording every so many simulated seconds (10s): resume, fork."),
]


def seconds_between(text: str | None) -> float | None:
    """Return the seconds of a value such as 10s or 2.5.

    Raises
    ------
    CrowdsimError
        If it is no time above 0.
    """
    if text is None:
        return None
    try:
        seconds = float(text.strip().removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < math.inf:
        raise CrowdsimError(f"--checkpoint-every {text}: must be a number of simulated seconds above 0, for example 10s.")
    return seconds


def load_plugins(files: list[Path] | None) -> None:
    """Load the plug-ins that the user named."""
    if files:
        from crowdsim.avoidance import plugins

        plugins.load_plugins(files)


def with_seed(sets: list[str] | None, seed: int | None) -> list[str]:
    """Return the values to set, with the seed among them if one was given."""
    return [*(sets or []), *([f"seed={seed}"] if seed is not None else [])]


def known_folders(folders: list[Path] | None) -> list[Path]:
    """Return the folders of --allow-dir.

    Raises
    ------
    CrowdsimError
        If one is missing: what it is to allow would be refused later, far from the reason.
    """
    for folder in folders or ():
        if not folder.is_dir():
            raise CrowdsimError(f'--allow-dir {folder}: there is no folder "{folder}".')
    return [*(folders or ())]
