"""Damage of all kinds to a recording, by a seed, and the verbs that are given it, in this process."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import shutil
import traceback
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from crowdsim.cli import main
from crowdsim.recording.commit import Commit, newest

SCENE = """
version: 1
name: damage
tick: 0.1
stop: {after: 3}
geometry:
  walkable: [[0, 0], [12, 0], [12, 4], [0, 4]]
  areas: [{name: door, area: {box: [5, 0, 6, 4]}}]
goals: {end: {exit: [[11.5, 0], [12, 0], [12, 4], [11.5, 4]]}, there: {point: [1, 1]}}
groups:
  - {name: crowd, count: 4, region: [[0, 0], [3, 0], [3, 4], [0, 4]], goals: [end]}
  - {name: other, count: 2, region: [[7, 0], [9, 0], [9, 4], [7, 4]], goals: [there]}
record: {explain: [other], trace: true, rate: 10}
"""
BAD = "bad.h5"
VERBS = {  # the damaged file is bad.h5
    "info": ("info", BAD),
    "info json": ("info", BAD, "--json"),
    "verify": ("verify", BAD, "-j", "1"),
    "compare": ("compare", BAD, "whole.h5"),
    "compared": ("compare", "whole.h5", BAD),
    "compare places": ("compare", BAD, "whole.h5", "--tolerance", "0.1"),
    "compare on the whole": ("compare", "whole.h5", BAD, "--aggregates", "0.1", "--json"),
    "csv": ("export", BAD, "-o", "out.csv", "--columns", "velocity,goal,layer", "--force"),
    "sqlite": ("export", BAD, "-f", "sqlite", "-o", "out.sqlite", "--force"),
    "pedpy": ("export", BAD, "-f", "pedpy", "-o", "out-pedpy.h5", "--force"),
    "cut": ("cut", BAD, "out-cut.h5", "--from", "0.5", "--region", "0,0,8,4", "--group", "crowd", "--force"),
    "measure": ("measure", BAD),
    "deadlocks": ("deadlocks", BAD, "--all"),
    "budget": ("budget", BAD),
    "measure more": ("measure", BAD, "--line", "6,0,6,4", "--area", "door", "--json"),
    "deadlocks json": ("deadlocks", BAD, "--json"),
    "budget json": ("budget", BAD, "--json", "--milliseconds", "1"),
    "view": ("view", BAD, "-o", "out.html", "--force"),
    "plot": ("plot", BAD, "-o", "out.png", "--force"),
    "sheet": ("plot", BAD, "-o", "out.png", "--show", "all", "--force"),
    "explain": ("plot", BAD, "-o", "out.png", "--explain", "other[0]", "--at", "1", "--force"),
    "bless": ("bless", BAD, "--folder", "golden", "--force", "-j", "1"),
    "migrate": ("migrate", BAD, "-o", "out.h5", "--force"),
    "resume": ("resume", BAD, "-o", "out.h5", "--force", "-j", "1", "-q"),
    "resume at": ("resume", BAD, "--at", "0", "-o", "out.h5", "--force", "-j", "1", "-q"),
    "recover": ("recover", BAD, "-o", "out.h5", "--force"),
    "doctor": ("doctor",),
    "verify budget": ("verify", "--budget-from", BAD, "-j", "1"),
}


def make_whole(folder: Path) -> Path:
    """Record the run that is to be damaged, with a checkpoint beside it."""
    (folder / "scene.yaml").write_text(SCENE)
    code, out, err, fault = call(
        folder, ("run", "scene.yaml", "-o", "whole.h5", "-q", "-j", "1", "--checkpoint-every", "1", "--force")
    )
    assert code == 3 and not fault, (out, err, fault)
    return folder / "whole.h5"


def call(folder: Path, words: tuple[str, ...]) -> tuple[int | None, str, str, str]:
    """Call a verb in a folder; return its exit code, what it printed,
    and the traceback of what it raised besides.
    """
    out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(list(words))
    except SystemExit as leaving:
        return int(leaving.code or 0), out.getvalue(), err.getvalue(), ""
    except BaseException:
        return None, out.getvalue(), err.getvalue(), traceback.format_exc()
    finally:
        os.chdir(before)
    return None, out.getvalue(), err.getvalue(), "it did not leave"


# Bytes
# ------------------------------------------------------------------------------------------------------------


def _bytes_changed(data: bytearray, rng: np.random.Generator) -> str:
    size = len(data)
    reach = size if rng.integers(2) else min(size, 40_000)  # half of them where the metadata lies
    kind = str(rng.choice(["bits", "cut", "swapped", "zeroed", "noise", "doubled"]))
    at, length = int(rng.integers(reach)), int(rng.integers(1, 400))
    if kind == "bits":
        for _ in range(int(rng.integers(1, 20))):
            data[int(rng.integers(reach))] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        del data[int(rng.integers(size)) :]
    elif kind == "swapped":
        one, other = (
            slice(int(page) * 4096, int(page) * 4096 + 4096)
            for page in rng.permutation(max(2, size // 4096))[:2]
        )
        data[one], data[other] = data[other], data[one]
    elif kind == "zeroed":
        data[at : at + length] = bytes(len(data[at : at + length]))
    elif kind == "noise":
        data[at : at + length] = rng.bytes(len(data[at : at + length]))
    else:
        data[at:at] = data[at : at + length]
    return kind


# Content
# ------------------------------------------------------------------------------------------------------------


def _datasets(file: h5py.File) -> list[str]:
    found: list[str] = []
    file.visititems(lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None)
    return found


def rewritten(file: h5py.File, name: str, rows: Any, **options: Any) -> None:
    """Put a dataset with other rows in the place of one."""
    attributes = dict(file[name].attrs)
    del file[name]
    made = file.create_dataset(
        name,
        data=rows,
        maxshape=(None, *np.shape(rows)[1:]),
        chunks=(max(1, len(rows)), *np.shape(rows)[1:]),
        compression="gzip",
        shuffle=True,
        **options,
    )
    made.attrs.update(attributes)


def _missing(file: h5py.File, rng: np.random.Generator) -> str:
    name = str(rng.choice([*_datasets(file), "agents", "frames", "trace"]))
    del file[name]
    return f"{name} is missing"


def _other_type(file: h5py.File, rng: np.random.Generator) -> str:
    name = str(rng.choice(_datasets(file)))
    rows = file[name][:]
    names = rows.dtype.names
    kind = int(rng.integers(4))
    if names and kind < 3:
        left = (
            [field for field in names if field != names[int(rng.integers(len(names)))]] if kind else [*names]
        )
        changed = np.zeros(
            len(rows),
            dtype=[
                (field if kind < 2 else field + "x", rows.dtype[field] if kind else "<i4") for field in left
            ],
        )
        for field in left if kind < 2 else ():
            with np.errstate(all="ignore"):
                changed[field] = rows[field].astype(changed.dtype[field])
        rows = changed
    else:
        rows = np.zeros(rows.shape, dtype=str(rng.choice(["f4", "i2", "S7", "c16", "?", "V5"])))
    rewritten(file, name, rows)
    return f"{name} has another type"


def _other_shape(file: h5py.File, rng: np.random.Generator) -> str:
    name = str(rng.choice(_datasets(file)))
    rows = file[name][:]
    kind = int(rng.integers(4))
    rows = [
        rows[: len(rows) // 2],
        np.concatenate((rows, rows)),
        rows[:0],
        rows.reshape(len(rows), math.prod(rows.shape[1:]), 1) if rows.dtype.names is None else rows[:, None],
    ][kind]
    if kind == 2:
        del file[name]
        file.create_dataset(
            name,
            shape=rows.shape,
            dtype=rows.dtype,
            chunks=(16, *rows.shape[1:]),
            maxshape=(None, *rows.shape[1:]),
        )
    else:
        rewritten(file, name, rows)
    return f"{name} has another shape"


EXTREME = (
    0,
    1,
    -1,
    2,
    7,
    255,
    2**31 - 1,
    -(2**31),
    2**62,
    -(2**62),
    float("nan"),
    float("inf"),
    float("-inf"),
    1e308,
    -1e308,
    1e-300,
    0.5,
)


def _other_values(file: h5py.File, rng: np.random.Generator) -> str:
    name = str(
        rng.choice(
            [
                name
                for name in _datasets(file)
                if name not in ("header", "verdict", "commit") and len(file[name])
            ]
        )
    )
    rows = file[name][:]
    target = rows
    told = name
    if rows.dtype.names:
        field = str(rng.choice(rows.dtype.names))
        target, told = rows[field], f"{name}.{field}"
    kind = int(rng.integers(5))
    flat = target.reshape(len(target), -1) if target.dtype.names is None else target
    chosen = rng.random(len(flat)) < rng.choice([1.0, 0.1, 2.0 / len(flat)])
    with np.errstate(all="ignore"):
        if kind == 0:
            value = EXTREME[int(rng.integers(len(EXTREME)))]
            if target.dtype.kind in "iub":
                value = int(np.clip(0 if value != value else value, -(2**62), 2**62)) & (
                    2 ** (8 * target.dtype.itemsize - (target.dtype.kind == "i")) - 1
                )
            target[chosen] = value
        elif kind == 1:
            target[...] = target[::-1].copy()
        elif kind == 2:
            target[...] = rng.permutation(target)
        elif kind == 3:
            target[chosen] = (
                np.frombuffer(rng.bytes(target.dtype.itemsize), dtype=target.dtype)[0]
                if target.ndim == 1
                else 0
            )
        else:
            target[...] = np.roll(target, int(rng.integers(1, 5)))
    rewritten(file, name, rows)
    return f"other values in {told}"


def _json_changed(value: Any, rng: np.random.Generator, path: str = "") -> tuple[Any, str]:
    """Return plain values with one of them changed, and which."""
    if isinstance(value, (dict, list)) and value and rng.random() < 0.93:
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]
        key = keys[int(rng.integers(len(keys)))]
        changed, where = _json_changed(value[key], rng, f"{path}/{key}")
        copy = dict(value) if isinstance(value, dict) else list(value)
        if changed is _json_changed:
            del copy[key]
        else:
            copy[key] = changed
        return copy, where
    others = [
        _json_changed,
        None,
        -1,
        0,
        1,
        10**9,
        2**70,
        1e308,
        0.5,
        "",
        "x",
        "POLYGON ((0 0, 1 1))",
        "a" * 3000,
        [],
        {},
        [1],
        {"a": 1},
        True,
        [[]],
        "é\x9b",
        -0.1,
        "1e999",
    ]
    chosen = others[int(rng.integers(len(others)))]
    return chosen, f"{path} = {'deleted' if chosen is _json_changed else repr(chosen)[:30]}"


def _other_json(file: h5py.File, rng: np.random.Generator) -> str:
    name = str(rng.choice(["header", "verdict"]))
    document = json.loads(file[name][:].tobytes())
    if name == "header" and rng.random() < 0.7:
        part = str(rng.choice(["header", "layout"]))
        document[part], where = _json_changed(document[part], rng, part)
        if document[part] is _json_changed:
            del document[part]
    elif name == "verdict" and rng.random() < 0.7 and document.get("result"):
        document["result"], where = _json_changed(document["result"], rng, "result")
        if document["result"] is _json_changed:
            del document["result"]
    else:
        document, where = _json_changed(document, rng)
    text = json.dumps(document if document is not _json_changed else None, ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )
    rewritten(file, name, np.frombuffer(text, dtype=np.uint8))
    if name == "verdict":
        _commit(file, verdict_bytes=len(text))
    return f"{name}: {where}"


def _commit(file: h5py.File, **changes: Any) -> None:
    record = newest(file["commit"][:])
    assert record is not None
    packed = np.frombuffer(replace(record, **changes).pack(), dtype="<u8")
    for slot in range(2):
        file["commit"][slot] = packed


def _other_commit(file: h5py.File, rng: np.random.Generator) -> str:
    field = str(rng.choice([each.name for each in fields(Commit)]))
    record = newest(file["commit"][:])
    before = getattr(record, field)
    value = (
        int(rng.choice([0, 1, before - 1, before + 1, before // 2, 2 * before, 2**31, 2**62]))
        if rng.random() < 0.9
        else -1
    )
    _commit(file, **{field: value})
    return f"commit.{field}: {before} becomes {value}"


def _links(file: h5py.File, rng: np.random.Generator) -> str:
    name = str(rng.choice(_datasets(file)))
    shape, dtype = file[name].shape, file[name].dtype
    del file[name]
    kind = int(rng.integers(6))
    if kind == 0:
        file[name] = h5py.ExternalLink("/etc/passwd", "/x")
    elif kind == 1:
        file[name] = h5py.SoftLink("/" + name)
    elif kind == 2:
        file.create_dataset(name, shape=(10,), dtype="u1", external=[("/etc/passwd", 0, 10)])
    elif kind == 3:
        file.create_virtual_dataset(name, h5py.VirtualLayout((12,), "<i8"))
    elif kind == 4:
        file[name] = file["/"]
    else:
        file.create_dataset(name, shape=(10**9, *shape[1:]), dtype=dtype, chunks=(1000, *shape[1:]))
    return f"{name} leads elsewhere or claims much ({kind})"


def _attributes(file: h5py.File, rng: np.random.Generator) -> str:
    owners = [file, *(file[name] for name in _datasets(file))]
    owner = owners[int(rng.integers(len(owners)))]
    for key in list(owner.attrs):
        value = [None, -1, "x", np.zeros(3), b"\xff", np.nan][int(rng.integers(6))]
        del owner.attrs[key]
        if value is not None:
            owner.attrs[key] = value
    return f"attributes of {owner.name}"


CONTENT: tuple[Callable[[h5py.File, np.random.Generator], str], ...] = (
    _missing,
    _other_type,
    _other_shape,
    _other_values,
    _other_values,
    _other_json,
    _other_json,
    _other_commit,
    _links,
    _attributes,
)


def damaged_recording(whole: Path, target: Path, rng: np.random.Generator) -> str:
    """Write a damaged copy of a recording; return what was done to it."""
    if rng.random() < 0.25:
        data = bytearray(whole.read_bytes())
        told = _bytes_changed(data, rng)
        target.write_bytes(data)
        return told
    shutil.copyfile(whole, target)
    with h5py.File(target, "r+", libver=("v110", "v110")) as file:
        return CONTENT[int(rng.integers(len(CONTENT)))](file, rng)
