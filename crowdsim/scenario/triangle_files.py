"""Files of triangles in space: OBJ, PLY, STL, glTF and GLB, read by trimesh."""

from __future__ import annotations

import io
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError, NavigationError
from crowdsim.scenario.files import FileAccess

KINDS = {".obj": "obj", ".ply": "ply", ".stl": "stl", ".gltf": "gltf", ".glb": "glb"}
_UP: dict[str, Literal["y", "z"]] = {"obj": "y", "gltf": "y", "glb": "y", "ply": "z", "stl": "z"}


class TriangleFile(NamedTuple):
    """What is in a file of triangles.

    Attributes
    ----------
    vertices : (nv, 3) float64
        z is up.
    faces : (nf, 3) int64
    material : (nf,) int64
        Of each triangle, its place in `materials`.
    materials : tuple of str
        Their names; empty for those that have none.
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    material: NDArray[np.int64]
    materials: tuple[str, ...]


def read_triangles(name: str, access: FileAccess, up: Literal["y", "z"] | None = None) -> TriangleFile:
    """Return the triangles of a file.

    Parameters
    ----------
    name : str
        Its name, as the scenario gives it.
    access : FileAccess
    up : "y" or "z", optional
        Which axis of the file points up; by default what programs write that use such files.

    Returns
    -------
    TriangleFile

    Raises
    ------
    FileRefused
        If it may not be read.
    NavigationError
        If its ending is unknown, or nothing can be made of it.
    CrowdsimError
        If trimesh is not installed.
    """
    kind = KINDS.get(PurePath(name).suffix.lower())
    if kind is None:
        raise NavigationError(f"files of triangles end in one of {', '.join(KINDS)}")
    data = access.read(name).encode() if kind == "obj" else access.read_bytes(name)
    try:
        import trimesh
    except ImportError:
        raise CrowdsimError(
            "reading files of triangles needs trimesh, which is not installed: pip install 'crowdsim[mesh]'"
        ) from None
    try:
        if kind == "obj":
            text, names = _with_materials_as_objects(data.decode())
            scene: Any = trimesh.load_scene(
                io.StringIO(text), file_type=kind, process=False, skip_materials=True, split_objects=True
            )
            named = [(names[int(key)], part) for key, part in scene.geometry.items()]
        else:
            scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, process=False)
            named = [(_material_of(part), part) for part in scene.dump()]
        named = [(name, part) for name, part in named if isinstance(part, trimesh.Trimesh)]
        parts = [part for _, part in named]
        first = np.cumsum([0, *(len(part.vertices) for part in parts)])
        vertices = np.concatenate([np.zeros((0, 3)), *(np.asarray(part.vertices) for part in parts)])
        faces = np.concatenate(
            [
                np.zeros((0, 3), dtype=np.int64),
                *(part.faces + at for part, at in zip(parts, first, strict=False)),
            ]
        )
    except Exception as error:
        raise NavigationError(
            f"is no {kind.upper()} file that can be read ({type(error).__name__}: {error})"
        ) from None
    if (up or _UP[kind]) == "y":
        vertices = vertices[:, [0, 2, 1]] * np.array([1.0, -1.0, 1.0])
    material = np.repeat(np.arange(len(parts)), [len(part.faces) for part in parts])
    return TriangleFile(
        vertices.astype(np.float64), faces.astype(np.int64), material, tuple(name for name, _ in named)
    )


def _with_materials_as_objects(text: str) -> tuple[str, list[str]]:
    """Return an OBJ file in which all faces of one material are an object, named by its number, and the names
    of the materials: trimesh tells objects apart, and forgets the names of materials that it has no file of.
    """
    names, lines = [""], ["o 0"]
    for line in text.splitlines():
        words = line.split(None, 1)
        if words[:1] == ["usemtl"]:
            name = words[1].strip() if len(words) > 1 else ""
            if name not in names:
                names.append(name)
            lines.append(f"o {names.index(name)}")
        elif words[:1] not in (["o"], ["g"], ["mtllib"]):
            lines.append(line)
    return "\n".join(lines), names


def _material_of(part: Any) -> str:
    return str(getattr(getattr(part.visual, "material", None), "name", None) or "")
