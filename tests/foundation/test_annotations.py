"""Functions have types, but for kernels, whose types numba finds."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED = "# mypy: allow-untyped-defs"  # mypy can be told so for a module only
DECORATORS = {"kernel", "lean_kernel", "inlined_kernel", "intrinsic"}


def is_kernel(node):
    names = {each.func if isinstance(each, ast.Call) else each for each in node.decorator_list}
    return any(isinstance(each, ast.Name) and each.id in DECORATORS for each in names)


def functions(node, within=False):
    """Each function below a node, and whether it is a kernel or stands in one."""
    for child in ast.iter_child_nodes(node):
        compiled = within
        if isinstance(child, ast.FunctionDef):
            compiled = within or is_kernel(child)
            yield child, compiled
        yield from functions(child, compiled)


def is_typed(node):
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    arguments += [each for each in (node.args.vararg, node.args.kwarg) if each is not None]
    named = [each for each in arguments if each.arg not in ("self", "cls")]
    return all(each.annotation is not None for each in named) and (
        node.returns is not None or (node.name == "__init__" and bool(named))
    )


def kernels_and_untyped(text):
    """The names of kernels without types, and of other functions without."""
    kernels, others = [], []
    for node, compiled in functions(ast.parse(text)):
        if not is_typed(node):
            (kernels if compiled else others).append(node.name)
    return kernels, others


def test_only_modules_with_kernels_are_excepted_and_only_kernels_in_them_have_no_types():
    excepted = {
        path: kernels_and_untyped(text)
        for path in sorted((ROOT / "crowdsim").rglob("*.py"))
        if ALLOWED in (text := path.read_text(encoding="utf-8")).splitlines()
    }
    assert excepted
    needless = [str(path.relative_to(ROOT)) for path, (kernels, _) in excepted.items() if not kernels]
    assert not needless, f"these need no '{ALLOWED}' any more"
    untyped = {str(path.relative_to(ROOT)): others for path, (_, others) in excepted.items() if others}
    assert not untyped, "these functions are no kernels: give them types"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@kernel\ndef a(x):\n    def b(y): pass", (["a", "b"], [])),
        ("@inlined_kernel(inline=True)\ndef a(x): pass\ndef b(x): pass", (["a"], ["b"])),
        ("def a(x: int): pass\ndef b() -> None: pass", ([], ["a"])),
        ("class A:\n    def __init__(self, x: int): pass\n    def b(self, *x) -> None: pass", ([], ["b"])),
    ],
)
def test_a_function_without_types_is_found(text, found):
    assert kernels_and_untyped(text) == found
