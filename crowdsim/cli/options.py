"""Options that several verbs take in the same way."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SetValues = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the scenario, for example --set groups.0.count=200; may be repeated."),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed, instead of the scenario's.")]
AllowDir = Annotated[
    list[Path] | None,
    typer.Option("--allow-dir", metavar="DIR", help="Folder, beside the scenario's own, from which it may name files; may be repeated."),
]


def with_seed(sets: list[str] | None, seed: int | None) -> list[str]:
    """Return the values to set, with the seed among them if one was given."""
    return [*(sets or []), *([f"seed={seed}"] if seed is not None else [])]
