"""Kernels take few arguments, and tuples whole:
one with more than twelve is in the list below, with the reason. The list gets shorter.
"""

import ast

from tests.crowds import ROOT

MOST = 12
DECORATORS = {"kernel", "lean_kernel", "inlined_kernel"}
COLUMNS = "Python calls it once a tick, with columns of the agents, each an array of its own"
ROWS = (
    "the rows of a range that a kernel with columns of the agents hands on, and the room to work in that it "
    "made"
)
INNER = (
    "numbers of one step of an inner loop, which LLVM keeps in registers: a tuple of them would only be "
    "taken apart again"
)
ROOM = "arrays that it fills, each with a type of its own, beside what it reads"
REASONS = {
    COLUMNS: """
        avoidance.symmetry.turn_away
        systems.paths.corridor_paths.sort_followers
        corridor.measure.measure_path_rows systems.spread.find_straight
    """,
    ROWS: """
        avoidance.sampling.kernel._choose_by_sampling
        avoidance.velocity_obstacles.kernel.choose_with_workspaces avoidance.orca.orca._choose_velocities
        avoidance.neighbour_model.find_neighbours
    """,
    INNER: """
        avoidance.velocity_obstacles.obstacles.agent_obstacle avoidance.orca.wall_planes.wall_half_planes
        avoidance.neighbours.find_nearest
        avoidance.sampling.time_to_collision.lay_out_neighbours avoidance.sampling.samplers.search_adaptively
    """,
    ROOM: """
        bodies.contacts.push_apart bodies.contacts.near_slots bodies.contacts._scale_pushes
        bodies.contacts.scale_pushes bodies.contacts.list_contacts
        bodies.contacts._list_contacts
    """,
}


def kernels():
    """The number of arguments of each kernel, by its name below the package, without ``navigation``."""
    found = {}
    for path in sorted((ROOT / "crowdsim").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "crowdsim").with_suffix("").parts).removeprefix(
            "navigation."
        )
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body if any(name in text for name in DECORATORS) else ():
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(each, ast.Name) and each.id in DECORATORS for each in node.decorator_list
            ):
                found[f"{module}.{node.name}"] = len(node.args.args)
    return found


def test_a_kernel_with_many_arguments_has_a_reason():
    found = {name for name, count in kernels().items() if count > MOST}
    listed = [name for names in REASONS.values() for name in names.split()]
    assert len(listed) == len(set(listed))
    assert found == set(listed), (
        "give it a tuple (a NamedTuple, taken whole), or a reason; a line that nothing needs any more goes"
    )


def test_serve_loops_take_the_search_and_the_work_whole():
    text = (ROOT / "crowdsim" / "navigation" / "planning" / "serve.py").read_text(encoding="utf-8")
    (loop,) = [
        node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == "serve"
    ]
    assert [each.arg for each in loop.args.args] == ["start", "stop", "search", "work"]
    every = [
        path
        for path in (ROOT / "crowdsim").rglob("*.py")
        if "work.job_next[slot] += 1" in path.read_text(encoding="utf-8")
    ]
    assert [path.name for path in every] == ["serve.py"]  # there is one
