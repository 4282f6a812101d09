"""``crowdsim new``: a scenario to start from, out of a template or out of a plan."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdsim.cli.shell import complain_of, say
from crowdsim.commands import command
from crowdsim.errors import CrowdsimError, ExitCode
from crowdsim.printable import visible

if TYPE_CHECKING:
    from crowdsim.scenario.plan_kinds import Kind


def new(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="File to write; it must not exist. With --plan: default is its name.", show_default=False
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option("--template", "-t", help="What to start from; without a file, all of them are listed."),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan",
            metavar="PLAN",
            help="A plan to start from: .dxf, .wkt, .geojson, .json, .txt, .map, .obj.",
        ),
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="With --plan: run it at once, as crowdsim run would.")
    ] = False,
    exits: Annotated[
        list[str] | None,
        typer.Option(
            "--exit", metavar="X,Y", help="With --plan: a point where people get out, m; may be repeated."
        ),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(
            "--people", min=1, max=100_000, help="With --plan: how many; default: one for 4 m2, at most 500."
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            help="With --plan: mm, cm, dm, m, km, in, ft or yd; default: as it says, or by its size.",
        ),
    ] = None,
    layer: Annotated[
        list[str] | None,
        typer.Option(
            "--layer",
            metavar="KIND=NAME",
            help=(
                "With --plan: a layer is ground, walls, obstacles, doors, exits, starts or nothing; repeat "
                "it."
            ),
        ),
    ] = None,
    opening: Annotated[
        float | None,
        typer.Option(
            "--opening",
            metavar="M",
            min=0.1,
            max=50.0,
            help="With --plan: widest gap in outer walls that is a way out; default 2.5.",
        ),
    ] = None,
    wall: Annotated[
        float | None,
        typer.Option(
            "--wall",
            metavar="M",
            min=0.001,
            max=5.0,
            help="With --plan: how thick walls drawn as lines are; default 0.1.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="With --plan: replace files, and the recording, of that name.")
    ] = False,
) -> int:
    """Write a commented, working scenario to start from; never over an existing file, unless --force says so.

    With --plan: a crowd on the free ground of a floor plan that leaves by its exits. Exits are what the plan
    says (layers or features named so), else openings in its outer walls; small faults of the drawing are
    mended. All that was taken for granted is reported, and written into the scenario.
    """
    if plan is not None:
        if template is not None:
            raise CrowdsimError("--template and --plan are both what to start from. Give one of them.")
        target = file or Path(plan.stem).with_suffix(".yaml")
        check_name(target)
        _from_plan(
            plan,
            target,
            exits or [],
            layer or [],
            unit,
            force=force,
            people=people,
            opening=opening,
            wall=wall,
        )
        return _run(target, force=force) if run else int(ExitCode.OK)
    idle = [
        name
        for name, value in (
            ("--run", run),
            ("--exit", exits),
            ("--people", people),
            ("--unit", unit),
            ("--layer", layer),
            ("--opening", opening),
            ("--wall", wall),
            ("--force", force),
        )
        if value
    ]
    if idle:
        raise CrowdsimError(
            f"{' and '.join(idle)} {'is' if len(idle) == 1 else 'are'} about a floor plan. Name it with "
            "--plan PLAN."
        )
    _from_template(file, template or "bottleneck")
    return int(ExitCode.OK)


def _from_template(file: Path | None, template: str) -> None:
    from crowdsim.scenario.templates import TEMPLATES, template_text
    from crowdsim.scenario.tree import suggestion

    if file is None:
        for name, about in TEMPLATES.items():
            say(f"{name:12} {about}")
        return
    if template not in TEMPLATES:
        raise CrowdsimError(
            (
                f'There is no template "{template}". {suggestion(template, TEMPLATES)} Known are '
                f"{', '.join(TEMPLATES)}."
            ).replace("  ", " ")
        )
    check_name(file)
    write_new(file, template_text(template))
    say(f"{file} written (template {template}). Run it with: {command('run', file)}")


def check_name(file: Path) -> None:
    """Raise CrowdsimError unless a file is named as scenarios are."""
    if file.suffix not in (".yaml", ".yml"):
        raise CrowdsimError(
            f'"{file}" does not end in .yaml. Write for example '
            f'"{file.with_suffix(".yaml") if file.name else "my_scenario.yaml"}".'
        )


def _from_plan(
    plan: Path,
    file: Path,
    exits: list[str],
    layers: list[str],
    unit: str | None,
    *,
    force: bool,
    **numbers: float | None,
) -> None:
    """Write the scenario of a plan, look whether it loads, and say what was found;
    `numbers` are those of `starter_of` that were asked for.
    """
    from crowdsim.plans.starter import starter_of
    from crowdsim.scenario.dxf import METRES
    from crowdsim.scenario.load import load_scenario

    if unit is not None and unit not in METRES:
        raise CrowdsimError(f'--unit is "{unit}", but must be one of {", ".join(METRES)}.')
    asked: dict[str, Any] = {name: number for name, number in numbers.items() if number is not None}
    starter = starter_of(
        plan, file, unit=unit, kinds=_kinds(layers), exits=[_point(text) for text in exits], **asked
    )
    targets = [file if number == 0 else file.with_name(name) for number, name in enumerate(starter.files)]
    taken = [target for target in targets if target.exists()]
    if taken and not force:
        raise CrowdsimError(
            f'"{taken[0]}" exists already and is not overwritten. Choose another name, or use --force.'
        )
    for target, text in zip(targets, starter.files.values(), strict=True):
        write_new(target, text, force=force)
    for word in starter.words:
        say(f"{plan}: {visible(word)}")
    loaded = load_scenario(file)
    complain_of(loaded.notes)
    others = " and ".join(str(target) for target in targets[1:])
    say(f"{file} written, with its ground in {others}. Run it with: {command('run', file)}")


def _kinds(layers: list[str]) -> dict[str, Kind]:
    """Return what layers are, of texts like ``walls=A-WALL``."""
    from crowdsim.scenario.plan_kinds import Kind

    found = {}
    for text in layers:
        kind, sign, name = text.partition("=")
        if not sign or not name or kind not in list(Kind):
            raise CrowdsimError(
                f'--layer is "{text}", but must be KIND=NAME, where KIND is one of {", ".join(Kind)}: for '
                "example walls=A-WALL."
            )
        found[name] = Kind(kind)
    return found


def _point(text: str) -> tuple[float, float]:
    """Return the point of a text like ``12.5,3``."""
    from math import isfinite

    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError:
        x = y = float("nan")
    if not (isfinite(x) and isfinite(y)):
        raise CrowdsimError(f'--exit is "{text}", but must be X,Y in metres: for example --exit 12.5,3.')
    return x, y


def _run(file: Path, *, force: bool) -> int:
    """Run a scenario as ``crowdsim run`` does, and say how to look at it."""
    from crowdsim.cli import run as verb

    code = verb.run(file, threads=0, force=force)
    target = verb.RUNS / f"{file.stem}.h5"
    if target.exists():
        say(f"look at it: {command('view', target)}")
    return code


def write_new(file: Path, text: str, *, force: bool = False) -> None:
    """Write a file that did not exist before, or replace one by a whole one;
    what cannot be written whole is not left behind.
    """
    if force and file.exists():
        scratch = file.with_name(f".{file.name}.{secrets.token_hex(4)}.tmp")
        try:
            write_new(scratch, text)
        except CrowdsimError as error:
            raise CrowdsimError(str(error).replace(str(scratch), str(file))) from None
        scratch.replace(file)
        return
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        raise CrowdsimError(f'"{file}" exists already and is not overwritten. Choose another name.') from None
    except FileNotFoundError:
        raise CrowdsimError(
            f'There is no folder "{file.parent}" to write "{file.name}" into. Make it first.'
        ) from None
    except (OSError, ValueError) as error:
        raise CrowdsimError(
            f'"{file}" cannot be written: {getattr(error, "strerror", None) or error}.'
        ) from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        file.unlink(missing_ok=True)
        raise CrowdsimError(f'"{file}" cannot be written: {error.strerror or error}.') from None
