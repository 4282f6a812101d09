"""Which kernels a run needs, known before it begins:
from a list that is kept beside the code, ``needed.json``.

For each scene of the warm-up (`crowdsim.simulation.warm`) the list names the kernels that Python calls in it,
with the types of their arguments. So they can be loaded at once, compiled by several processes, and counted.
The list is made by ``python -m crowdsim.build_kernels --list`` and held to the code by a test. What it leaves
out is compiled when it is called; what it names and is no longer there is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core import types as _types

types: Any = _types  # whose annotations lack most of it
FILE = Path(__file__).with_name("needed.json")
# What it costs to make a part of a source, and to make machine code of it once more in each kernel that it is
# a part of.
_FRONT, _BACK = 2.0, 1.0


class Needed(NamedTuple):
    """A kernel with types of arguments.

    Attributes
    ----------
    name : str
        Of the module and the function.
    args : tuple of str
        As `type_text` writes them.
    parts : tuple of int
        The functions that it is made of, itself included.
    """

    name: str
    args: tuple[str, ...]
    parts: tuple[int, ...]


class List(NamedTuple):
    """The list, as it is read.

    Attributes
    ----------
    tuples : mapping of str to list of str
        Named tuples among the arguments: the class, then the types of its fields. Records: nothing, then the
        fields, each with its type.
    sizes : list of int
        Of the parts: kB of LLVM's text.
    kernels : list of Needed
    scenes : mapping of str to list of int
        Which kernels each scene of the warm-up needs.
    """

    tuples: dict[str, list[str]]
    sizes: list[int]
    kernels: list[Needed]
    scenes: dict[str, list[int]]


@cache
def the_list() -> List:
    """Return the list; an empty one where there is none."""
    try:
        read = json.loads(FILE.read_text())
    except FileNotFoundError:
        return List({}, [], [], {})
    return List(
        read["tuples"],
        read["sizes"],
        [Needed(name, tuple(args), tuple(parts)) for name, args, parts in read["kernels"]],
        read["scenes"],
    )


def needed_by(scenes: Iterable[str]) -> list[Needed]:
    """Return the kernels that some scenes of the warm-up need, in the order of the list."""
    known = the_list()
    return [known.kernels[k] for k in sorted({k for scene in scenes for k in known.scenes.get(scene, [])})]


def ready(kernel: Needed) -> tuple[Any, tuple[Any, ...]] | None:
    """Return a kernel's function and the types of its arguments; None if there is none of that name."""
    module, name = kernel.name.rsplit(".", 1)
    try:
        return getattr(import_module(module), name), tuple(
            type_of(text, the_list().tuples) for text in kernel.args
        )
    except (ImportError, AttributeError):
        return None


def shared_out(kernels: Sequence[Needed], count: int) -> list[list[Needed]]:
    """Return what each of several processes compiles, so that they are done at about the same time:
    what is made of the same parts goes to the same one.
    """
    sizes = the_list().sizes
    lists: list[list[Needed]] = [[] for _ in range(count)]
    spent, made = [0.0] * count, [set[int]() for _ in range(count)]
    for kernel in sorted(kernels, key=lambda each: -sum(sizes[part] for part in each.parts)):
        back = _BACK * sum(sizes[part] for part in kernel.parts)
        costs = [
            spent[k] + back + _FRONT * sum(sizes[part] for part in kernel.parts if part not in made[k])
            for k in range(count)
        ]
        least = min(range(count), key=costs.__getitem__)
        spent[least] = costs[least]
        made[least].update(kernel.parts)
        lists[least].append(kernel)
    return lists


def type_text(kind: Any, tuples: dict[str, list[str]]) -> str:
    """Return a type of numba as text; named tuples are put into `tuples`.

    Raises
    ------
    ValueError
        If it is none that this can say.
    """
    if isinstance(kind, types.Array):
        dtype = (
            _noted("Record", ["", *map(" ".join, _fields(kind.dtype))], tuples)
            if isinstance(kind.dtype, types.Record)
            else str(kind.dtype)
        )
        fixed, unaligned = "" if kind.mutable else " fixed", "" if kind.aligned else " unaligned"
        return f"{dtype} {kind.ndim}{kind.layout}{fixed}{unaligned}"
    if isinstance(kind, types.BaseNamedTuple):
        owner = kind.instance_class
        fields = [type_text(field, tuples) for field in kind.types]
        return f"({_noted(owner.__name__, [f'{owner.__module__}.{owner.__qualname__}', *fields], tuples)})"
    if isinstance(kind, types.BaseTuple) and not any(
        isinstance(item, types.BaseTuple) for item in kind.types
    ):
        return f"[{', '.join(type_text(item, tuples) for item in kind.types)}]"
    if isinstance(kind, (types.Number, types.Boolean, types.NoneType)) and not isinstance(
        kind, types.Literal
    ):
        return str(kind)
    raise ValueError(f"{kind} cannot be written")


def _noted(name: str, written: list[str], tuples: dict[str, list[str]]) -> str:
    """Return the name under which something is in `tuples`, now at the latest."""
    names = (f"{name}{'' if k == 1 else k}" for k in range(1, 1000))
    return next(each for each in names if tuples.setdefault(each, written) == written)


def _fields(record: Any) -> list[tuple[str, str]]:
    """Return the fields of a record with their types.

    Raises
    ------
    ValueError
        If it has gaps, or fields that are not numbers.
    """
    fields = [(name, str(record.typeof(name))) for name in record.fields]
    if numba.from_dtype(np.dtype(fields)) != record:
        raise ValueError(f"{record} cannot be written")
    return fields


def type_of(text: str, tuples: dict[str, list[str]]) -> Any:
    """Return the type that a text says; see `type_text`."""
    if text.startswith("("):
        owner, *fields = tuples[text[1:-1]]
        module, name = owner.rsplit(".", 1)
        return types.BaseTuple.from_types(
            [type_of(field, tuples) for field in fields], getattr(import_module(module), name)
        )
    if text.startswith("["):
        return types.BaseTuple.from_types([type_of(item, tuples) for item in text[1:-1].split(", ") if item])
    if " " in text:
        dtype, shape, *words = text.split(" ")
        kind = (
            numba.from_dtype(np.dtype([tuple(field.split(" ")) for field in tuples[dtype][1:]]))
            if dtype in tuples
            else _scalar(dtype)
        )
        return types.Array(
            kind, int(shape[:-1]), shape[-1], readonly="fixed" in words, aligned="unaligned" not in words
        )
    return _scalar(text)


def _scalar(name: str) -> Any:
    return {"bool": types.boolean, "none": types.none}.get(name) or getattr(types, name)
