"""``crowdsim city``: a made city as a scenario, for searches over large ground."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdsim.cli.shell import say
from crowdsim.commands import command
from crowdsim.errors import CrowdsimError, ExitCode
from crowdsim.printable import counted


def city(
    file: Annotated[Path, typer.Argument(help="Scenario to write (.yaml); it must not exist.")],
    size: Annotated[float, typer.Option("--size", help="Length of its sides, m.")] = 1000.0,
    block: Annotated[float, typer.Option("--block", help="From one street to the next, about, m.")] = 100.0,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="The same seed gives the same city, and the same run of it.")
    ] = 1,
    people: Annotated[
        int, typer.Option("--people", min=1, max=100_000, help="How many walk to its squares.")
    ] = 100,
    force: Annotated[bool, typer.Option("--force", help="Replace files of that name.")] = False,
) -> int:
    """Write a made city as a scenario, with its ground beside it: streets on a net that is a little
    irregular, avenues across it, squares, houses with passages and courts. All of its ground is connected.
    """
    from crowdsim.cli.new import check_name, write_new
    from crowdsim.geometry.made_city import make_city
    from crowdsim.plans.city import city_files

    check_name(file)
    made = make_city(size, seed, block)
    texts = city_files(file.stem, made, people, seed)
    targets = [file.with_name(name) for name in texts]
    taken = [target for target in targets if target.exists()]
    if taken and not force:
        raise CrowdsimError(
            f'"{taken[0]}" exists already and is not overwritten. Choose another name, or use --force.'
        )
    for target, text in zip(targets, texts.values(), strict=True):
        write_new(target, text, force=force)
    houses, squares = counted(len(made.ground.interiors), "house"), counted(len(made.squares), "square")
    say(
        f"{targets[0]} written, with its ground in {targets[1]}: {houses} and {squares} on {size:g} m x "
        f"{size:g} m. Run it with: {command('run', targets[0])}"
    )
    return int(ExitCode.OK)
