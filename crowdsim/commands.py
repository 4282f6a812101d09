"""Commands that messages name, to be copied into a shell: every word quoted where it has to be."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from crowdsim.printable import is_printable


def command(verb: str, *words: str | Path) -> str:
    """Return ``crowdsim <verb> <words>`` as a shell takes it.

    Parameters
    ----------
    verb : str
    words : str or Path
        A path that begins like an option is given a folder; what no terminal can show is written as bash and
        zsh know it (``$'\\x1b'``).
    """
    return " ".join(["crowdsim", verb, *(quoted(word) for word in words)])


def quoted(word: str | Path) -> str:
    """Return a word as a shell takes it: as it is, where nothing in it means something to the shell."""
    text = str(word)
    if isinstance(word, Path) and text.startswith("-"):
        text = f"./{text}"
    if all(is_printable(letter) for letter in text):
        return shlex.quote(text)
    parts = []
    for letter in text:
        if is_printable(letter) and letter not in "'\\":
            parts.append(letter)
        else:
            parts += [f"\\x{byte:02x}" for byte in os.fsencode(letter)]
    return f"$'{''.join(parts)}'"
