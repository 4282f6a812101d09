"""What decides about a state is computed in an order of its own, by operations that IEEE 754 rounds once:
the C library, and code that numpy chooses by the processor, would make it another one elsewhere.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite import binding

ROOT = Path(__file__).parents[1] / "crowdsim"
# Rooms that make no state: what they compute is looked at.
ONLY_SHOW = {"bench", "cli", "comparison", "measures", "pictures", "plans", "regression", "sweep"}
# Of a room that only shows, what the tick asks as well.
ASKED_BY_THE_TICK = ("measures/deadlock",)
OF_THE_C_LIBRARY = {
    "acos", "acosh", "arccos", "arcsin", "arctan", "arctan2", "asin", "atan", "atan2", "cbrt", "cos", "cosh",
    "exp", "exp2", "expm1", "fmod", "hypot", "log", "log10", "log1p", "log2", "pow", "power", "sin", "sinh",
    "tan", "tanh",
}  # fmt: skip
# Sums of products by code for the processor, with multiplications and additions in one.
OF_THE_PROCESSOR = {"einsum", "inner", "linalg", "matmul", "tensordot", "vdot"}
# Exactly so because nothing is rounded, or because it decides nothing.
ALLOWED = {
    ("geometry/triangulation.py", "@"): "of whole numbers",
    ("navigation/tiles/build.py", "@"): "of whole numbers",
    ("navigation/grid/floors.py", "@"): "of whole numbers",
    (
        "scenario/distributions.py",
        "math.exp",
    ): "cut-offs, which are rounded, and a share that is judged",
    ("scenario/distributions.py", "math.log"): "a share that is judged",
    ("scenario/storeys.py", "math.atan2"): "an angle in a message",
    ("setup/gaps.py", "np.log10"): "a size in a message",
    ("systems/behaviour/hiding.py", "np.cos"): "rounded to a micrometre",
    ("systems/behaviour/hiding.py", "np.sin"): "rounded to a micrometre",
    ("recording/export.py", "np.hypot"): "of a file for others",
    ("geometry/made_city.py", "buffer"): "of straight lines, with flat ends",
    ("geometry/surface.py", "buffer"): "asked what it covers, or rounded to the grid where it cuts",
    ("measures/deadlock_by_place.py", "buffer"): "asked whether points are in it",
    ("measures/deadlock_recorded.py", "buffer"): "of straight lines, with flat ends",
    ("scenario/check.py", "buffer"): "asked whether things are in it",
    ("scenario/obstacles.py", "buffer"): "of what a message names",
    ("scenario/waypaths.py", "buffer"): "of what a message names",
    ("setup/agents.py", "buffer"): "an area that is judged",
    ("setup/vehicles.py", "buffer"): "asked whether the middles of cells are in it",
}


def files():
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.split("/")[0] not in ONLY_SHOW or name.startswith(ASKED_BY_THE_TICK):
            yield name, path


def is_same_everywhere(call):
    """Whether the corners of a buffer follow from sums, products, quotients and roots."""
    said = {each.arg: ast.unparse(each.value) for each in call.keywords}
    has_no_arcs = said.get("join_style") == "'mitre'" and said.get("cap_style") != "'round'"
    return has_no_arcs or ast.unparse(call.args[-1]) == "0.0"


def used_in(tree):
    """What is used that is not the same everywhere, as (line, name)."""
    # the corners of round buffers are of the C library's sine: rounded to the grid they are the same
    rounded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "shapely.set_precision"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "buffer":
            if id(node) not in rounded and not is_same_everywhere(node):
                yield node.lineno, "buffer"
            continue
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
            yield node.lineno, "@"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            exponent = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
            if isinstance(exponent, ast.Constant) and exponent.value != int(exponent.value):
                yield node.lineno, "**"
        elif isinstance(node, ast.Attribute) and node.attr == "dot":
            yield node.lineno, "dot"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            forbidden = OF_THE_C_LIBRARY | OF_THE_PROCESSOR
            # The standard library has a hypot and a dist of its own.
            if (node.value.id == "np" and node.attr in forbidden) or (
                node.value.id == "math" and node.attr in OF_THE_C_LIBRARY - {"hypot"}
            ):
                yield node.lineno, f"{node.value.id}.{node.attr}"


@pytest.mark.parametrize(
    "text",
    [
        "a @ b",
        "np.hypot(x, y)",
        "np.linalg.norm(a)",
        "math.sin(x)",
        "x ** 0.5",
        "np.einsum('i,i', a, b)",
        "a.dot(b)",
        "shapely.buffer(a, 1.0)",
        "a.buffer(1.0)",
    ],
)
def test_each_of_them_is_found(text):
    assert len(list(used_in(ast.parse(text)))) == 1


def test_state_is_made_by_sums_products_quotients_and_roots_alone():
    found = {
        f"crowdsim/{name}:{line}: {what}"
        for name, path in files()
        for line, what in used_in(ast.parse(path.read_text(encoding="utf-8")))
        if (name, what) not in ALLOWED
    }
    assert not found, "\n".join(sorted(found)) + (
        "\nSee crowdsim/geometry/lengths.py: hypot, hypots, dots. Buffers: set_precision(..., GRID_M)."
    )


# Grounds with exits across their outlines. Of these, meshes were others where sums of products were numpy's.
PLANS = """
import hashlib, numpy as np, shapely
from crowdsim.navigation.mesh.build import build_mesh
def hull(rng, middle, size, count):
    return shapely.convex_hull(shapely.MultiPoint(middle + rng.uniform(-size, size, (count, 2))))
for seed in (5, 7, 8, 17, 46, 52):
    rng = np.random.default_rng(seed)
    ground = shapely.convex_hull(shapely.MultiPoint(rng.uniform(0, 30, (8, 2))))
    ground -= shapely.union_all([hull(rng, rng.uniform(5, 25, 2), 2.0, 5) for _ in range(4)])
    exits = shapely.union_all([hull(rng, rng.uniform(0, 30, 2), 2.0, 5) for _ in range(3)])
    print(hashlib.blake2b(build_mesh(ground, openings=exits).mesh.vertex.tobytes()).hexdigest())
"""


def test_a_mesh_is_the_same_whatever_processor_numpy_finds():
    found = set()
    older = ["Haswell"] if binding.get_host_cpu_features().get("avx2") else []
    for processor in ("Prescott", *older, ""):  # names of OpenBLAS, which numpy's wheels have; "" is this one
        done = subprocess.run(
            [sys.executable, "-c", PLANS], env={**os.environ, "OPENBLAS_CORETYPE": processor},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert len(done.stdout.split()) == 6
        found.add(done.stdout)
    assert len(found) == 1


# Grounds whose part that is clear of walls was another one without the instructions that multiply and add.
CLEAR = """
import hashlib, numpy as np, shapely
from crowdsim.setup.gates import clear_of_walls
def hull(rng, middle, size, count):
    return shapely.convex_hull(shapely.MultiPoint(middle + rng.uniform(-size, size, (count, 2))))
for seed in (421, 735, 775):
    rng = np.random.default_rng(seed)
    ground = hull(rng, 15.0, 15.0, 8)
    ground -= shapely.union_all([hull(rng, rng.uniform(5, 25, 2), 3.0, 5) for _ in range(4)])
    print(hashlib.blake2b(shapely.to_wkb(shapely.normalize(clear_of_walls(ground)))).hexdigest())
"""


def test_ground_that_is_clear_of_walls_is_the_same_whatever_sine_the_c_library_takes():
    found = set()
    for without in ("", "glibc.cpu.hwcaps=-FMA,-AVX2"):
        done = subprocess.run(
            [sys.executable, "-c", CLEAR], env={**os.environ, "GLIBC_TUNABLES": without},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert len(done.stdout.split()) == 3
        found.add(done.stdout)
    assert len(found) == 1
