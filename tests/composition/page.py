"""`python -m tests.composition.page` makes the table of what combines with what in
docs/guides/what-combines.md of the reasons that the tests of this folder hold to.
"""

from __future__ import annotations

from tests.composition.cells import REFUSALS, expected_refusals
from tests.composition.features import AXES, features, plain
from tests.crowds import ROOT

PAGE = ROOT / "docs" / "guides" / "what-combines.md"
HEADING = "## The table\n"


def table() -> str:
    """Return the part of the page from its heading on."""
    used = sorted(
        {
            number
            for one in features()
            for other in features()
            if one[0] != other[0]
            for number, refusal in enumerate(REFUSALS)
            if refusal in expected_refusals(plain() | dict([one, other]))
        }
    )
    names = {number: place for place, number in enumerate(used, 1)}
    axes = list(AXES)
    lines = [
        HEADING,
        "Made by `python -m tests.composition.page`. A dot: every choice of that column goes with the row. "
        "A number: the choices that do not, with the reason below.",
        "",
        f"| feature | {' | '.join(axes)} |",
        f"| --- |{' --- |' * len(axes)}",
    ]
    for axis, choice in features():
        cells = []
        for other in axes:
            refused: dict[int, list[str]] = {}
            for value in AXES[other][1:] if other != axis else ():
                for refusal in expected_refusals(plain() | {axis: choice, other: value})[:1]:
                    refused.setdefault(names[REFUSALS.index(refusal)], []).append(value)
            cells.append(
                "; ".join(f"{', '.join(values)} ({number})" for number, values in refused.items()) or "·"
                if other != axis
                else ""
            )
        lines.append(f"| {axis}: {choice} | {' | '.join(cells)} |")
    lines += ["", "### Why not", "", "| | what | reason |", "| --- | --- | --- |"]
    for number, place in names.items():
        lines.append(f"| {place} | {REFUSALS[number].kind} | {REFUSALS[number].why} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table into the page."""
    before = PAGE.read_text(encoding="utf-8").partition(HEADING)[0]
    PAGE.write_text(before + table(), encoding="utf-8")


if __name__ == "__main__":
    main()
