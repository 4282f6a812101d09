"""The results of a benchmark, as one JSON object; how they are stored, shown, and set beside earlier ones."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from crowdsim.bench.peers import PEERS
from crowdsim.bench.rounds import installed, machine
from crowdsim.errors import CrowdsimError

FORMAT = 1
PRODUCTS = tuple(dict.fromkeys(peer.product for peer in PEERS))
# What scenes and models are called that had another name: in the history, and on the command line.
OF_NOW = {"ways": "paths", "mesh ways": "mesh paths"}
# Cores that others use, above which it is said that times, and to some degree ratios, are theirs too.
BUSY = 0.25


def run_bench(
    *,
    quick: bool = False,
    scenes: Sequence[str] | None = None,
    products: Sequence[str] = PRODUCTS,
    note: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure the scenes and return the results.

    Parameters
    ----------
    quick : bool
        Fewer agents and rounds: about a minute.
    scenes : sequence of str, optional
        Names of `crowdsim.bench.scenes.SCENES`; all of them by default.
    products : sequence of str
        Peers to be measured; those that are not installed are named as missing.
    note : callable
        Called with what is going on.

    Returns
    -------
    dict
        format, quick, machine (see `crowdsim.bench.rounds.machine`; memory_gb), load_after, scenes, missing.
        A scene has name, about, agents, rounds, cores_of_others and rows.
        A row has product, model, version, threads, agents (of paths: how many), cpu_ns (median of processor
        times, ns an agent and step) with its least and most; a peer's row also beside, alike, and ratio,
        ratio_least, ratio_most: its time over that of our model beside it in the same round.

    Raises
    ------
    CrowdsimError
        If a scene is not known.
    """
    from crowdsim.bench.scenes import SCENES

    known = [scene.name for scene in SCENES]
    for name in OF_NOW.keys() & set(scenes or ()):
        note(f'the scene "{name}" is called "{OF_NOW[name]}" now')
    scenes = [OF_NOW.get(name, name) for name in scenes or ()]
    for name in scenes:
        if name not in known:
            raise CrowdsimError(f'There is no scene "{name}". Known are {", ".join(known)}.')
    missing = {
        product: f"not installed (pip install {product})"
        for product in products
        if installed(product) is None
    }
    there = tuple(product for product in products if product not in missing)
    memory_gb = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1)
    document: dict[str, Any] = {
        "format": FORMAT,
        "quick": quick,
        "machine": machine() | {"memory_gb": memory_gb},
    }
    found = []
    for scene in SCENES:
        if scenes and scene.name not in scenes:
            continue
        agents, rounds = (scene.quick_agents, scene.quick_rounds) if quick else (scene.agents, scene.rounds)
        rows, others = scene.run(agents, rounds, there, missing, partial(_note_of_scene, note, scene.name))
        cores = None if others != others else round(others, 2)
        found.append(
            {
                "name": scene.name,
                "about": scene.about,
                "agents": agents,
                "rounds": rounds,
                "cores_of_others": cores,
                "rows": rows,
            }
        )
    return document | {
        "load_after": [round(one, 2) for one in os.getloadavg()],
        "scenes": found,
        "missing": missing,
    }


def _note_of_scene(note: Callable[[str], None], name: str, text: str) -> None:
    note(f"{name}: {text}")


def as_text(document: dict[str, Any], table: Callable[..., str]) -> str:
    """Return the results of a benchmark as text; `table` lays rows out."""
    host = document["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in host["versions"].items() if number)
    lines = [
        f"{host['processor']}, {host['cores']} cores, {host['memory_gb']:g} GB, {host['system']}",
        f"Python {host['python']}, {versions}",
        f"load of the machine {host['load'][0]:g} before, {document['load_after'][0]:g} after",
    ]
    for scene in document["scenes"]:
        lines += ["", f"{scene['name']}: {scene['about']}; {scene['rounds']} rounds by turns"]
        rows = [
            (
                row["product"],
                row["model"],
                f"{row['agents']:,}",
                f"{row['cpu_ns']:,.0f}",
                _spread(row) if "ratio" in row else "",
                _alike(row),
            )
            for row in scene["rows"]
        ]
        lines.append(
            table(("product", "model", "agents", "ns an agent", "times ours", ""), rows, right=(2, 3))
        )
        if scene["cores_of_others"] is not None and scene["cores_of_others"] > BUSY:
            lines.append(
                f"others used {scene['cores_of_others']:g} cores meanwhile: times are too long, ratios less "
                "certain"
            )
    lines += [""] + [f"missing: {name}: {reason}" for name, reason in document["missing"].items()]
    lines.append(
        "same as: the same velocities; like: the same idea; other than: another kind of model; part of: "
        "less work than ours"
    )
    lines.append("times are processor times (median); times ours: median of the rounds [least, most]")
    return "\n".join(lines)


def _spread(row: dict[str, Any]) -> str:
    return f"{row['ratio']:.2f} [{row['ratio_least']:.2f}, {row['ratio_most']:.2f}]"


def _alike(row: dict[str, Any]) -> str:
    words = {"same": "same as", "kind": "like", "other": "other than", "less": "part of"}
    return (
        f"{words[row['alike']]} {row['beside']}"
        + (f", {row['longer']:.3f} times as long" if "longer" in row else "")
        if "alike" in row
        else ""
    )


# History
# ------------------------------------------------------------------------------------------------------------


def keep(document: dict[str, Any], file: Path) -> None:
    """Add the results of a benchmark, as one line, to the end of a file, which is made if it is missing.

    Raises
    ------
    CrowdsimError
        If it cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(document, allow_nan=False) + "\n")
    except OSError as error:
        raise CrowdsimError(f'"{file}" cannot be written: {error.strerror or error}.') from None


def read_history(file: Path) -> list[dict[str, Any]]:
    """Return the results in a file, oldest first.

    Raises
    ------
    CrowdsimError
        If there is no such file, or a line of it is no benchmark.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise CrowdsimError(
            f'There is no history "{file}". "crowdsim bench --keep" begins one; --file names another.'
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CrowdsimError(
            f'"{file}" cannot be read: {getattr(error, "strerror", None) or error}.'
        ) from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            if entry["format"] != FORMAT or not isinstance(entry["scenes"], list):
                raise ValueError
            for scene in entry["scenes"]:
                scene["name"] = OF_NOW.get(scene["name"], scene["name"])
                for row in scene["rows"]:
                    row.update(
                        {key: OF_NOW.get(row[key], row[key]) for key in ("model", "beside") if key in row}
                    )
            found.append(entry)
        except (ValueError, TypeError, KeyError):
            raise CrowdsimError(
                f"{file}:{number}: this line is no benchmark of format {FORMAT}. Delete it."
            ) from None
    return found


def history_rows(entries: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return how ratios went: names of columns, and a row for each peer in each scene,
    with a column for each entry.

    Entries of other numbers of agents are other scenes: ``--quick`` is never set beside a whole run.
    """
    dates = [
        f"{entry['machine']['date'][:10]} {entry['machine']['versions'].get('crowdsim') or '?'}"
        for entry in entries
    ]
    cells: dict[tuple[str, ...], dict[int, str]] = {}
    for place, entry in enumerate(entries):
        for scene in entry["scenes"]:
            for row in scene["rows"]:
                if "ratio" in row:
                    key = (f"{scene['name']}, {scene['agents']:,}", f"{row['product']} {row['model']}")
                    cells.setdefault(key, {})[place] = _spread(row)
    rows = [[*key, *(found.get(place, "") for place in range(len(entries)))] for key, found in cells.items()]
    return ["scene", "times ours", *dates], rows
