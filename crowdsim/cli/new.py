"""``crowdsim new``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from crowdsim.cli.shell import say
from crowdsim.errors import CrowdsimError


def new(
    file: Annotated[Path | None, typer.Argument(help="File to write; it must not exist.", show_default=False)] = None,
    template: Annotated[str, typer.Option("--template", "-t", help="What to start from; without a file, all of them are listed.")] = "bottleneck",
) -> None:
    """Write a commented, working scenario to start from; never over an existing file."""
    from crowdsim.scenario.templates import TEMPLATES, template_text
    from crowdsim.scenario.tree import suggestion

    if file is None:
        for name, about in TEMPLATES.items():
            say(f"{name:12} {about}")
        return
    if template not in TEMPLATES:
        raise CrowdsimError(f'There is no template "{template}". {suggestion(template, TEMPLATES)} Known are {", ".join(TEMPLATES)}.'.replace("  ", " "))
    if file.suffix not in (".yaml", ".yml"):
        raise CrowdsimError(f'"{file}" does not end in .yaml. Write for example "{file.with_suffix(".yaml") if file.name else "my_scenario.yaml"}".')
    _write_new(file, template_text(template))
    say(f"{file} written (template {template}). Run it with: crowdsim run {file}")


def _write_new(file: Path, text: str) -> None:
    """Write a file that did not exist before; what cannot be written whole is not left behind."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        raise CrowdsimError(f'"{file}" exists already and is not overwritten. Choose another name.') from None
    except FileNotFoundError:
        raise CrowdsimError(f'There is no folder "{file.parent}" to write "{file.name}" into. Make it first.') from None
    except (OSError, ValueError) as error:
        raise CrowdsimError(f'"{file}" cannot be written: {getattr(error, "strerror", None) or error}.') from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        file.unlink(missing_ok=True)
        raise CrowdsimError(f'"{file}" cannot be written: {error.strerror or error}.') from None
