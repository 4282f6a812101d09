"""What the parts of a plan are: by the names of layers and features,
as draughtsmen use them in several languages.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Kind(StrEnum):
    """What a part of a plan is."""

    GROUND = "ground"
    WALLS = "walls"
    OBSTACLES = "obstacles"
    DOORS = "doors"
    EXITS = "exits"
    STARTS = "starts"
    NOTHING = "nothing"


# Beginnings of words in names; the first kind that one of the words fits counts. Four-letter forms (FURN,
# GLAZ, FLOR) are those of the AIA's CAD layer guidelines, which many offices use. Windows are walls: nobody
# walks through them. Texts, dimensions and grids are nothing.
WORDS: dict[Kind, tuple[str, ...]] = {
    Kind.NOTHING: (
        "dim",
        "text",
        "anno",
        "note",
        "title",
        "frame",
        "defpoints",
        "axis",
        "axes",
        "grid",
        "hatch",
        "patt",
        "bemass",
        "legend",
        "viewport",
    ),
    Kind.EXITS: ("exit", "egress", "ausgang", "ausgänge", "notausgang", "sortie", "salida", "uscita"),
    Kind.STARTS: ("start", "distribution", "people", "crowd", "agent", "occupant", "seat", "person"),
    Kind.DOORS: ("door", "tür", "tuer", "porte", "puerta", "porta", "gate", "opening"),
    Kind.WALLS: (
        "wall",
        "glaz",
        "window",
        "wind",
        "wand",
        "wände",
        "waende",
        "fenster",
        "mur",
        "fenêtre",
        "pared",
        "muro",
        "ventana",
        "partition",
    ),
    Kind.OBSTACLES: (
        "obstacle",
        "column",
        "cols",
        "pillar",
        "furn",
        "eqpm",
        "table",
        "desk",
        "shelf",
        "stütze",
        "möbel",
        "moebel",
        "säule",
        "poteau",
        "meuble",
        "mueble",
        "fixt",
        "casework",
    ),
    Kind.GROUND: (
        "ground",
        "room",
        "floor",
        "flor",
        "walk",
        "area",
        "space",
        "raum",
        "räume",
        "raeume",
        "boden",
        "salle",
        "sol",
        "suelo",
        "hall",
        "corridor",
        "outline",
        "boundary",
    ),
}
_WORD = re.compile(r"[^\W\d_]+")
# would also begin other words
_WHOLE = (
    "sol",
    "dim",
    "mur",
    "wind",
    "area",
    "note",
    "title",
    "text",
    "gate",
    "hall",
    "seat",
    "start",
    "grid",
)


def kind_of(name: str) -> Kind | None:
    """Return what the name of a layer or feature says that it is, or None.

    Examples
    --------
    >>> kind_of("A-WALL-EXTR"), kind_of("Emergency exits"), kind_of("0")
    (<Kind.WALLS: 'walls'>, <Kind.EXITS: 'exits'>, None)
    """
    words = [word.casefold() for word in _WORD.findall(name)]
    for kind, beginnings in WORDS.items():
        for word in words:
            if any(
                word in (beginning, beginning + "s") if beginning in _WHOLE else word.startswith(beginning)
                for beginning in beginnings
            ):
                return kind
    return None
