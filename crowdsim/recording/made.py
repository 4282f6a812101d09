"""Pages, pictures and films of ours carry a mark, so that a command replaces what crowdsim made without being
asked twice, and nothing else.
"""

from __future__ import annotations

import os
from pathlib import Path

# In a comment of a page or film, in a text chunk of a PNG, in the metadata of an SVG or PDF.
MARK = "Made by crowdsim, which replaces it without asking"
MARKED = (".html", ".htm", ".png", ".svg", ".pdf", ".gif", ".mp4")
# Bytes at the begin and at the end in which the mark is looked for: a PDF has a list of its parts behind it.
LOOKED_THROUGH = 65_536


def is_made(path: Path) -> bool:
    """Return whether a file is a page, a picture or a film that has our mark."""
    if path.suffix.lower() not in MARKED:
        return False
    try:
        # without the last, a named pipe would wait for a writer for ever
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            begin = file.read(LOOKED_THROUGH)
            file.seek(max(0, os.fstat(file.fileno()).st_size - LOOKED_THROUGH))
            return MARK.encode() in begin or MARK.encode() in file.read(LOOKED_THROUGH)
    except OSError:
        return False


def taken_text(path: Path) -> str:
    """Return why a name that is taken is refused, and what can be done."""
    marked = path.suffix.lower() in MARKED
    why = " and has no mark of crowdsim, so it is not replaced" if marked else ""
    return f"{path} exists already{why}. Choose another name, or replace it with --force."
