"""Kinds of ground that navigations tell apart, and watchers that they hide from: what they name has to be
there, and ground that they weigh is marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from crowdsim.scenario.geometry import Geometry
from crowdsim.scenario.model import Group
from crowdsim.scenario.parameters import Chosen
from crowdsim.scenario.tree import Path, Problems, listed, suggestion

KEYS = ("forbid", "allow", "prices")


def with_kinds(geometry: Geometry, navigations: Mapping[Path, Chosen], problems: Problems) -> Geometry:
    """Return a geometry whose terrain knows whether some navigation tells it apart, and prices it.

    Parameters
    ----------
    geometry : Geometry
    navigations : mapping of Path to Chosen
        Of the scenario and of groups, by where they stand.
    problems : Problems
        Receives names that no terrain has, and what contradicts itself.
    """
    known = dict.fromkeys(each.name for floor in geometry.terrain for each in floor)
    if geometry.refill is not None:
        known |= dict.fromkeys(geometry.refill.surfaces)
    for path, chosen in navigations.items():
        forbid, allow = chosen.values.get("forbid", ()), chosen.values.get("allow", ())
        prices = dict(chosen.values.get("prices", ()))
        for key, names in (("forbid", forbid), ("allow", allow), ("prices", prices)):
            for name in names:
                if name not in known:
                    problems.add(
                        (*path, key),
                        f'there is no terrain "{name}"',
                        f"{suggestion(name, known)} Known are {listed(known) or 'none'}; "
                        "geometry.terrain lists what navigations tell apart.".strip(),
                        key=True,
                    )
        if forbid and allow:
            problems.add(
                (*path, "allow"),
                f"allow leaves {listed(allow)} alone, and forbid takes {listed(forbid)} away besides",
                "Keep one of them.",
                key=True,
            )
        barred = [name for name in prices if name in forbid or (allow and name not in allow)]
        if barred:
            problems.add(
                (*path, "prices"),
                f'the price of "{barred[0]}" does nothing: no path leads there',
                "Leave it out, or allow that terrain.",
                key=True,
            )
    named = {
        name for chosen in navigations.values() for key in KEYS[:2] for name in chosen.values.get(key, ())
    }
    priced = {name for chosen in navigations.values() for name, _ in chosen.values.get("prices", ())}
    on_polygons = len(geometry.grounds) > 1 or bool(geometry.patches)
    return replace(
        geometry,
        weighs_all=any(
            any(chosen.values.get(key) for key in ("unseen_from", "unseen_by", "shun"))
            and chosen.name != "visibility"
            and (on_polygons or not chosen.needs_cells)
            for chosen in navigations.values()
        ),
        told_apart=(frozenset(named), frozenset(priced)),
    ).told()


def check_watchers(navigations: Mapping[Path, Chosen], groups: Sequence[Group], problems: Problems) -> None:
    """Refuse watchers that are no groups, or those that hide from them themselves."""
    names = dict.fromkeys(group.name for group in groups)
    for path, chosen in navigations.items():
        for name in chosen.values.get("unseen_by", ()):
            if name not in names:
                problems.add(
                    (*path, "unseen_by"),
                    f'there is no group "{name}"',
                    f"{suggestion(name, names)} Known are {listed(names)}.".strip(),
                    key=True,
                )
        hiding = [
            group.name
            for group in groups
            if group.navigation is chosen or (group.navigation is None and path == ("navigation",))
        ]
        for name in sorted({*hiding} & {*chosen.values.get("unseen_by", ())}):
            problems.add(
                (*path, "unseen_by"),
                f'"{name}" would hide from itself',
                "Give that group a navigation of its own, without unseen_by.",
                key=True,
            )
