"""What a recording says of its scenario, with the names of today in the place of those of before."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from crowdsim.old_names import CAUSES, COLUMNS, PARAMETERS, names_of_now

_OF_GROUP = re.compile(r"\b(avoidance|navigation): \{(\w+: ([\w-]+|\"[^\"]*\"))(, [^{}]*)\}")
_KEY = re.compile(r"  (\w+): (.*)")


def parameters_of_today(parameters: Mapping[str, Any], own: Collection[str]) -> dict[str, Any]:
    """Return the parameters in a header, ``section.name``, by their names of today.

    Parameters
    ----------
    parameters : mapping
    own : collection of str
        Names of models and planners of a user's own: what they call their parameters is theirs.
    """
    renamed = {
        f"{section}.{old}": f"{section}.{now}"
        for section, names in PARAMETERS.items()
        if not any(parameters.get(f"{section}.{selector}") in own for selector in ("model", "kind"))
        for old, now in names.items()
    }
    return dict(zip(names_of_now(parameters, renamed), parameters.values(), strict=True))


def scenario_of_today(text: str, own: Collection[str]) -> str:
    """Return a scenario in canonical text with the names of today, in its sections and in those of groups.

    Parameters
    ----------
    text : str
        As `crowdsim.scenario.canonical` writes it; of another one what looks like it.
    own : collection of str
        As for `parameters_of_today`.
    """
    lines, section, is_own = [], "", False
    for line in text.split("\n"):
        if line and line[0] not in " -":
            section, is_own = line.partition(":")[0], False
        elif section == "groups":
            line = _OF_GROUP.sub(lambda found: _group_of_today(found, own), line)
        elif (section in PARAMETERS or section == "record") and (found := _KEY.fullmatch(line)):
            key, value = found.groups()
            is_own |= key in ("model", "kind") and value.strip('"') in own
            if section == "record" and key == "columns":
                value = f"[{', '.join(names_of_now(value.strip('[]').split(', '), COLUMNS))}]"
            elif not is_own:
                key = PARAMETERS.get(section, {}).get(key, key)
            line = f"  {key}: {value}"
        lines.append(line)
    return "\n".join(lines)


def _group_of_today(found: re.Match[str], own: Collection[str]) -> str:
    section, head, owner, rest = found.groups()
    if owner.strip('"') in own:
        return found[0]
    keys = [part.partition(": ") for part in rest.removeprefix(", ").split(", ")]
    today = [f"{PARAMETERS[section].get(key, key)}{colon}{value}" for key, colon, value in keys]
    return f"{section}: {{{', '.join([head, *today])}}}"


def verdict_of_today(verdict: dict[str, Any]) -> dict[str, Any]:
    """Return a verdict whose causes of new paths have their names of today."""
    result = verdict.get("result", {})
    counted = result.get("replans")
    if not isinstance(counted, dict):
        return verdict
    today = dict(zip(names_of_now(counted, CAUSES), counted.values(), strict=True))
    return {**verdict, "result": {**result, "replans": today}}
