"""Files of triangles in space: OBJ, PLY, STL, glTF and GLB, read by trimesh."""

from __future__ import annotations

import io
from pathlib import PurePath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError, NavigationError
from crowdsim.scenario.files import FileAccess

KINDS = {".obj": "obj", ".ply": "ply", ".stl": "stl", ".gltf": "gltf", ".glb": "glb"}
_UP: dict[str, Literal["y", "z"]] = {"obj": "y", "gltf": "y", "glb": "y", "ply": "z", "stl": "z"}
Mesh = tuple[NDArray[np.float64], NDArray[np.int64]]


def read_triangles(name: str, access: FileAccess, up: Literal["y", "z"] | None = None) -> Mesh:
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
    vertices : (nv, 3) float64
        z is up.
    faces : (nf, 3) int64

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
    source: Any = io.StringIO(data.decode()) if kind == "obj" else io.BytesIO(data)
    try:
        mesh: Any = trimesh.load(source, file_type=kind, process=False, force="mesh", skip_materials=True)
        vertices = np.asarray(mesh.vertices, dtype=np.float64).reshape(-1, 3)
        faces = np.asarray(mesh.faces, dtype=np.int64).reshape(-1, 3)
    except Exception as error:
        raise NavigationError(
            f"is no {kind.upper()} file that can be read ({type(error).__name__}: {error})"
        ) from None
    if (up or _UP[kind]) == "y":
        vertices = vertices[:, [0, 2, 1]] * np.array([1.0, -1.0, 1.0])
    return vertices, faces
