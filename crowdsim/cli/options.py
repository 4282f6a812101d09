"""Options that several verbs take in the same way."""

from __future__ import annotations

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
    typer.Option("--plugin", metavar="FILE", help="Python file with an avoidance model of your own; it is run. May be repeated."),
]


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
