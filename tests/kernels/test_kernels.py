"""The decorator: compiled code is kept and used again, but never after anything below it was edited."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba.core.errors import NumbaError

from crowdsim.kernels import cache_folder, sources
from crowdsim.kernels import decorator as kernels
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.kernels.threads import Team
from tests.crowds import ROOT
from tests.kernels import forked

PACKAGE = {
    "walkers/__init__.py": "",
    "walkers/outer.py": """
from crowdsim.kernels import kernel
from walkers.middle import step
@kernel
def outer(x):
    return step(x) + 1.0
@kernel
def alone(x):
    return x + 0.5
""",
    "walkers/middle.py": """
from crowdsim.kernels import kernel
from .deep import pace
from .numbers import units
@kernel
def step(x):
    return pace(x) * units.FACTOR
""",
    "walkers/deep.py": "from crowdsim.kernels import kernel\n@kernel\ndef pace(x):\n    return x + 100.0\n",
    "walkers/numbers/__init__.py": "",
    "walkers/numbers/units.py": "FACTOR = 2.0\n",
    "walkers/aside.py": "UNUSED = 1\n",
    "beside.py": """
from crowdsim.kernels import kernel
import helper_beside
@kernel
def outer(x):
    return helper_beside.add(x)
""",
    "helper_beside.py": "from crowdsim.kernels import kernel\n@kernel\ndef add(x):\n    return x + 7.0\n",
}
PROGRAM = """
from crowdsim.kernels.decorator import on_compile
names = []
on_compile(names.append)
from {module} import outer
print(outer(1.0), *names)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A small package with kernels in its files, two imports deep."""
    for name, text in PACKAGE.items():
        path = tmp_path / "code" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "code"


def start(package: Path, program: str) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{package}{os.pathsep}{ROOT}",
        "CROWDSIM_CACHE_DIR": str(package.parent / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=package.parent,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.split()


def outcome(package: Path, module: str = "walkers.outer", **options: str | Path) -> list[str]:
    """Run the program in a process of its own; return what it printed:
    the number, then the kernels that were compiled.
    """
    return printed(package, PROGRAM.format(module=module), **options)  # type: ignore[arg-type]


def printed(package: Path, program: str, *, cwd: Path | None = None, cache: Path | None = None) -> list[str]:
    """Run a program in a process of its own, to its end; return the words that it printed."""
    done = forked.run(
        program,
        package,
        cwd or package.parent,
        {"CROWDSIM_CACHE_DIR": str(cache or package.parent / "cache")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def edit(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_compiled_code_is_used_again_by_the_next_process(package):
    number, *compiled = outcome(package)
    assert number == "203.0"
    assert compiled == ["outer"]  # what it calls is a part of it
    assert outcome(package) == ["203.0"]
    elsewhere = package.parent / "elsewhere"
    elsewhere.mkdir()
    assert outcome(package, cwd=elsewhere) == ["203.0"]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("walkers/outer.py", "+ 1.0", "+ 2.0", "204.0"),
        ("walkers/middle.py", "* units", "- units", "100.0"),
        ("walkers/deep.py", "+ 100.0", "+ 200.0", "403.0"),
        ("walkers/numbers/units.py", "2.0", "3.0", "304.0"),
    ],
)
def test_an_edit_anywhere_below_a_kernel_compiles_it_anew(package, file, old, new, expected):
    outcome(package)
    path = package / file
    before = path.stat()
    edit(path, old, new)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # what counts is the text, not its date
    number, *compiled = outcome(package)
    assert number == expected
    assert "outer" in compiled
    assert outcome(package) == [expected]
    edit(path, new, old)
    assert outcome(package) == ["203.0"]  # the code of the first text is still there


def test_an_edit_elsewhere_compiles_nothing(package):
    outcome(package)
    edit(package / "walkers/aside.py", "1", "2")
    for path in package.rglob("*.py"):
        path.touch()
    assert outcome(package) == ["203.0"]


def test_a_module_beside_the_kernels_file_counts_like_one_of_a_package(package):
    assert outcome(package, "beside") == ["8.0", "outer"]
    edit(package / "helper_beside.py", "7.0", "9.0")
    assert outcome(package, "beside") == ["10.0", "outer"]
    assert outcome(package, "beside") == ["10.0"]


def test_a_module_that_was_edited_after_the_process_began_neither_reads_nor_fills_the_cache(package):
    """A notebook: the helper on the disk is new, the one in memory old."""
    program = """
import time, pathlib
import walkers.middle
path = pathlib.Path(walkers.middle.__file__).with_name("deep.py")
time.sleep(0.05)
path.write_text(path.read_text().replace("100.0", "500.0"))
from walkers.outer import outer
print(outer(1.0))
"""
    assert printed(package, program) == ["203.0"]
    number, *compiled = outcome(package)
    assert (number, "outer" in compiled) == ("1003.0", True)


def test_reloading_an_edited_module_gives_the_new_code(package):
    program = """
import importlib, time, pathlib
import walkers.deep
print(walkers.deep.pace(1.0))
time.sleep(0.05)
path = pathlib.Path(walkers.deep.__file__)
path.write_text(path.read_text().replace("100.0", "500.0") + "# longer")
importlib.reload(walkers.deep)
print(walkers.deep.pace(1.0))
"""
    assert printed(package, program) == ["101.0", "501.0"]


def test_a_cache_that_cannot_be_written_costs_only_the_compilation(package):
    blocked = package.parent / "a file, no folder"
    blocked.write_text("")
    for _ in range(2):
        assert outcome(package, cache=blocked / "cache") == ["203.0", "outer"]


def test_a_cache_on_a_read_only_disk_is_still_read(package):
    outcome(package)
    program = (
        "import pathlib\ndef refuse(*_, **__): raise OSError(30, 'Read-only file system')\n"
        "pathlib.os.makedirs = pathlib.os.mkdir = pathlib.os.replace = refuse\n"
    )
    assert printed(package, program + PROGRAM.format(module="walkers.outer")) == ["203.0"]
    assert (
        printed(package, program + PROGRAM.format(module="walkers.outer").replace("outer(1.0)", "outer(1)"))[
            0
        ]
        == "203.0"
    )


def test_damaged_cache_files_are_made_again(package):
    outcome(package)
    (file,) = (package.parent / "cache").rglob("*.nbc")
    for content in (b"", b"\0" * 100, pickle.dumps("something else"), file.read_bytes()[:-100]):
        file.write_bytes(content)
        assert outcome(package) == ["203.0", "outer"]
        assert outcome(package) == ["203.0"]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"[[0, 3",
        b"[]",
        b'{"PATH": 3}',
        b'{"PATH": [[1, 2, 3, "x"], "", []]}',
        b'{"PATH": [[1, 2, 3], "", []]}',
        b"\xff\xfe",
    ],
)
def test_a_damaged_index_of_sources_is_made_again(package, damage):
    outcome(package)
    (index,) = (package.parent / "cache").glob("sources-*.json")
    index.write_bytes(damage.replace(b"PATH", str(package / "walkers/deep.py").encode()))
    assert outcome(package) == ["203.0"]


def test_sources_are_read_again_where_the_file_system_says_that_they_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(tmp_path / "cache"))
    module, helper = tmp_path / "module.py", tmp_path / "helper.py"
    module.write_text("import helper\n")
    helper.write_text("A = 1\n")
    reads: list[str] = []
    parsed = sources._parsed_imports
    monkeypatch.setattr(
        sources, "_parsed_imports", lambda content: reads.append(content.decode()) or parsed(content)
    )

    def key() -> str:
        """As another process would find it."""
        sources._index.cache_clear()
        return sources.source_key(module)

    first = key()
    assert [path.name for path in sources.closure(module)] == ["helper.py", "module.py"]
    assert sorted(reads) == ["A = 1\n", "import helper\n"]
    monkeypatch.setattr(sources, "_SETTLED_NS", -(10**12))  # as if they had been written long ago
    sources._index.cache_clear()
    sources._index(tmp_path / "cache").changed = True
    assert key() == first
    reads.clear()
    assert key() == first and not reads
    before = helper.stat()
    helper.write_text("A = 2\n")
    os.utime(helper, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert key() != first and reads == ["A = 2\n"]


def test_what_is_known_of_sources_that_are_gone_is_forgotten_and_of_others_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "_SETTLED_NS", -(10**12))  # as if they had been written long ago
    modules = [tmp_path / f"{name}.py" for name in ("gone", "stays", "new")]
    for module in modules:
        if module.stem == "new":
            modules[0].unlink()
        module.write_text("A = 1\n")
        sources._index.cache_clear()  # as another process would
        sources.source_key(module)
    (index,) = (tmp_path / "cache").glob("sources-*.json")
    assert sorted(Path(path).stem for path in json.loads(index.read_bytes())) == ["new", "stays"]


def test_at_one_moment_each_file_is_looked_at_once_and_afterwards_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(tmp_path / "cache"))
    modules = [tmp_path / f"{name}.py" for name in ("first", "second", "helper")]
    for module in modules:
        module.write_text("" if module.stem == "helper" else "import helper\n")
    with sources.at_one_moment():
        before = [sources.source_key(module) for module in modules]
        modules[2].write_text("A = 1\n")
        assert [sources.source_key(module) for module in modules] == before
    assert all(a != b for a, b in zip(before, map(sources.source_key, modules), strict=True))


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["a.py", "a/b.py"], ["a.py"]),  # Python takes the module, not the folder without a package
        (["a.py", "a/__init__.py", "a/b.py"], ["a.py", "a/__init__.py", "a/b.py"]),  # and here the package
        (["a/b.py"], ["a/b.py"]),
        (["a/__init__.py", "a/b/__init__.py"], ["a/__init__.py", "a/b/__init__.py"]),
    ],
    ids=" ".join,
)
def test_names_taken_from_a_module_that_is_one_file_are_no_modules(tmp_path, monkeypatch, files, found):
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(tmp_path / "cache"))
    for each in ("module.py", *files):
        (tmp_path / each).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / each).write_text("from a import b\n" if each == "module.py" else "b = 1\n")
    closure = sources.closure(tmp_path / "module.py")
    assert {path.relative_to(tmp_path).as_posix() for path in closure} == {"module.py", *found}


def test_a_source_that_has_just_changed_is_read_again(tmp_path, monkeypatch):
    """File systems count time in steps: within one, an edit leaves no sign."""
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(tmp_path / "cache"))
    module = tmp_path / "module.py"
    module.write_text("A = 1\n")
    sources.source_key(module)
    (index,) = (tmp_path / "cache").glob("sources-*.json")
    assert index.read_bytes() == b"{}"


@pytest.mark.parametrize(
    "values",
    [
        ["1.0", "1", "True", "1j", "1.0"],
        pytest.param(["1.0", "1", "True", "1j", "1.0", "1"], marks=pytest.mark.full),
    ],
    ids=len,
)
def test_processes_that_compile_at_once_do_not_disturb_each_other(package, values):
    """Each compiles for other types first; none may be given the code of another."""
    gate = package.parent / "gate"
    program = (
        "import time, pathlib\nfrom walkers.outer import outer, alone\n"
        "while not pathlib.Path({gate!r}).exists(): time.sleep(0.001)\nprint(outer({value}), alone({value}))"
    )
    running = [start(package, program.format(gate=str(gate), value=value)) for value in values]
    time.sleep(1.0)
    gate.write_text("")
    expected = {
        "1.0": ["203.0", "1.5"],
        "1": ["203.0", "1.5"],
        "True": ["203.0", "1.5"],
        "1j": ["(201+2j)", "(0.5+1j)"],
    }
    assert [ended(process) for process in running] == [expected[value] for value in values]
    check = (
        "\nfrom crowdsim.kernels.decorator import on_compile\nnames = []\non_compile(names.append)\n"
        "print(outer(1.0), outer(1), outer(True), outer(1j), *names)"
    )
    assert ended(start(package, program.format(gate=str(gate), value="1.0") + check))[2:] == [
        "203.0",
        "203.0",
        "203.0",
        "(201+2j)",
    ]
    assert not list((package.parent / "cache").rglob("*.tmp.*"))


@pytest.mark.full
def test_of_two_processes_that_need_a_kernel_one_compiles_it(package):
    program = "import time, pathlib\nwhile not pathlib.Path({gate!r}).exists(): time.sleep(0.001)\n" + PROGRAM
    gate = package.parent / "gate"
    running = [start(package, program.format(gate=str(gate), module="walkers.outer")) for _ in range(3)]
    time.sleep(0.5)
    gate.write_text("")
    assert sorted(ended(process) for process in running) == [["203.0"], ["203.0"], ["203.0", "outer"]]


def test_a_process_that_dies_while_it_compiles_holds_nobody_up(package):
    program = (
        "import os\nfrom walkers.outer import outer\n"
        "from crowdsim.kernels.compiling import KernelDispatcher\n"
        "KernelDispatcher._whole = lambda *_: os._exit(9)\nouter(1.0)"
    )
    assert start(package, program).wait(timeout=120) == 9
    assert outcome(package) == ["203.0", "outer"]


def test_machine_code_that_came_with_the_package_is_used_where_the_sources_are_the_same(package):
    """Compiled for another processor than the cache would be, in a folder of the package."""
    made = {
        "CROWDSIM_CACHE_DIR": str(package.parent / "made"),
        "NUMBA_CPU_NAME": "x86-64-v3",
        "NUMBA_CPU_FEATURES": "",
        "PYTHONDONTWRITEBYTECODE": "1",  # of a source that is edited later Python could believe it
    }
    environment = {**os.environ, **made, "PYTHONPATH": f"{package}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module="walkers.outer")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.split() == ["203.0", "outer"], done.stderr
    (folder,) = (package.parent / "made").glob("x86-64-v3-*")
    carried = (
        "import pathlib, crowdsim.kernels.decorator\n"
        f"crowdsim.kernels.decorator.CARRIED = pathlib.Path({str(package.parent / 'carried')!r})\n"
    )
    carried += "crowdsim.kernels.decorator.carried_folders.cache_clear()\n"
    (package.parent / "carried").mkdir()
    folder.rename(package.parent / "carried" / folder.name)
    assert printed(package, carried + PROGRAM.format(module="walkers.outer")) == ["203.0"]
    assert not list((package.parent / "cache").rglob("*.nbc"))
    old = (
        "from llvmlite import binding\nhas = binding.get_host_cpu_features()\nhas['avx2'] = False\n"
        "binding.get_host_cpu_features = lambda: has\n"
    )
    assert printed(
        package, old + carried + PROGRAM.format(module="walkers.outer"), cache=package.parent / "other"
    ) == ["203.0", "outer"]
    edit(package / "walkers/deep.py", "100.0", "200.0")
    assert printed(package, carried + PROGRAM.format(module="walkers.outer")) == ["403.0", "outer"]


def test_functions_that_numba_compiles_by_itself_can_call_kernels(package):
    program = """
import numba
import walkers.outer, walkers.middle
@numba.njit
def theirs(x):
    return walkers_outer(x) + walkers_step(x)
walkers_outer, walkers_step = walkers.outer.outer, walkers.middle.step
print(theirs(1.0), walkers_outer(1.0), theirs(1), walkers_step(1))
"""
    for _ in range(2):
        assert printed(package, program) == ["405.0", "203.0", "405.0", "202.0"]


def test_a_kernel_that_returns_arrays_is_loaded_also_after_another_was_compiled_with_it(package):
    """The part of the other knows nothing of arrays for Python, and numba takes its environment for that of
    what is loaded, which has the same name.
    """
    text = """
import numpy as np
from crowdsim.kernels.decorator import kernel, on_compile
@kernel
def places():
    return np.ones(3), np.ones(2, np.int32)
@kernel
def summed(x):
    here, there = places()
    return here.sum() + there.sum() + x
"""
    (package / "arrays.py").write_text(text)
    program = (
        "from arrays import *; names = []; on_compile(names.append); print(summed(1.0), *[each.dtype for "
        "each in places()], *names)"
    )
    assert printed(package, program) == ["6.0", "float64", "int32", "summed", "places"]
    (kept,) = (package.parent / "cache").rglob("arrays.summed*.nbc")
    kept.unlink()
    assert printed(package, program) == ["6.0", "float64", "int32", "summed"]


def test_kernels_can_be_made_where_there_is_no_file(package):
    """In a notebook's cell or at the prompt."""
    program = PROGRAM.split("from {module}")[0] + (
        "space = {}\nexec('from crowdsim.kernels.decorator import kernel\\n@kernel\\ndef outer(x):\\n    "
        "return x + 1', space)\nprint(space['outer'](1), *names)"
    )
    for _ in range(2):
        assert printed(package, program) == ["2", "outer"]


def test_listeners_are_told_until_they_are_taken_off():
    told: list[str] = []
    forget = kernels.on_compile(told.append)
    space: dict[str, object] = {"kernel": kernel}
    exec("@kernel\ndef first(x):\n    return x\n@kernel\ndef second(x):\n    return x", space)
    space["first"](1)  # type: ignore[operator]
    space["first"](2)  # type: ignore[operator]
    forget()
    space["second"](1)  # type: ignore[operator]
    assert told == ["first"]


def makes_an_array(n):
    return np.zeros(n)[0]


def makes_a_list(n):
    return len([n, n])


def adds_arrays(a):
    return (a + a)[0]


def sums_a_slice(a):
    total = 0.0
    for value in a[1:3]:
        total += value
    return total


@pytest.mark.parametrize("decorator", [lean_kernel, inlined_kernel])
def test_lean_and_inlined_kernels_refuse_to_make_memory(decorator):
    for function, argument in ((makes_an_array, 3), (makes_a_list, 3), (adds_arrays, np.ones(4))):
        assert kernel(function)(argument) == function(argument)
        with pytest.raises(NumbaError):
            decorator(function)(argument)
    assert decorator(sums_a_slice)(np.arange(4.0)) == 3.0


def test_inlined_kernels_are_a_part_of_their_callers_and_lean_ones_can_be(tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(tmp_path))  # only what was compiled here can be looked at

    @inlined_kernel
    def inner(a, i):
        return a[i] * 3.0

    @lean_kernel
    def outer(a):
        total = 0.0
        for i in range(a.size):
            total += inner(a, i)
        return total

    assert outer(np.arange(4.0)) == 18.0
    code = outer.inspect_llvm(outer.signatures[0])
    assert not [
        line
        for line in code.splitlines()
        if re.search(r"\bcall\b.*@", line) and "inner" in line.split("@", 1)[1]
    ]


class Named(NamedTuple):
    """As kernels are given them."""

    values: np.ndarray
    table: np.ndarray
    count: int
    size: float
    is_open: bool


@kernel
def sums(named, more, numbers):
    named.values[0] += 1.0
    return (
        named.values.sum()
        + named.table[1, 2]
        + named.count * named.size
        + more[1]
        + len(numbers)
        + (1 if named.is_open else 0)
    )


@kernel
def parts(named, more):
    return named.values[1:3], more, named.table


@lean_kernel
def looks(named, more):
    return named.values[2] + more[0]


def test_kernels_are_given_named_tuples_and_hold_no_references_to_them_afterwards():
    named, more = (
        Named(np.arange(5.0), np.arange(6, dtype=np.int32).reshape(2, 3), 7, 0.5, True),
        np.arange(3.0),
    )
    assert sums(named, more, (1, 2)) == 11.0 + 5.0 + 3.5 + 1.0 + 2.0 + 1.0
    assert looks(named, more) == 2.0
    held = [sys.getrefcount(named.values), sys.getrefcount(named.table), sys.getrefcount(more)]
    for _ in range(100):
        sums(named, more, (1, 2))
        looks(named, more)
        parts(named, more)
    assert [sys.getrefcount(named.values), sys.getrefcount(named.table), sys.getrefcount(more)] == held


def test_what_a_kernel_returns_of_its_arguments_lives_on_without_them():
    named, more = (
        Named(np.arange(1000.0), np.arange(6, dtype=np.int32).reshape(2, 3), 7, 0.5, True),
        np.arange(1000.0),
    )
    piece, same, table = parts(named, more)
    assert same is more and table is named.table
    held = weakref.ref(named.values)
    del named
    assert held() is not None
    np.full(1000, 7.0)
    assert piece.tolist() == [1.0, 2.0]
    del piece
    assert held() is None


def always(x):
    x[0] += 1.0
    return True


def number_and_constant(x):
    return x.size, False


def constant_of_a_range(start, stop, x):
    return True


@pytest.mark.parametrize("decorator", [kernel, lean_kernel])
def test_a_kernel_may_return_a_constant(decorator):
    """Of a true one numba makes an integer first."""
    more = np.zeros(3)
    assert decorator(always)(more) is True and more[0] == 1.0
    assert decorator(number_and_constant)(more) == (3, False)
    assert Team(2).run(decorator(constant_of_a_range), 3, more) == [True]


def test_a_kernel_says_so_when_an_argument_is_no_array_of_its_type():
    """It cannot come to that: types decide which code is called. So the decision is made to be wrong."""
    more = np.arange(3.0)
    looks(Named(more, np.zeros((2, 3), dtype=np.int32), 7, 0.5, True), more)
    (whole,) = looks.overloads.values()
    with pytest.raises(TypeError, match="an array has another type"):
        whole.entry_point(
            Named(more.astype(np.float32), np.zeros((2, 3), dtype=np.int32), 7, 0.5, True), more
        )
    with pytest.raises(TypeError, match="an array has another type"):
        whole.entry_point(Named(more, "no array", 7, 0.5, True), more)


def test_arithmetic_is_as_in_numpy_and_division_by_zero_raises_nothing():
    @kernel
    def divide(a, b):
        return a / b

    assert divide(1.0, 0.0) == np.inf
    assert np.isnan(divide(0.0, 0.0))


def test_the_lock_is_released_while_a_kernel_runs():
    assert kernel(sums_a_slice).targetoptions["nogil"] is True
    assert kernel(sums_a_slice).targetoptions["fastmath"] is False


def test_the_cache_lies_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDSIM_CACHE_DIR", str(tmp_path / "mine"))
    assert cache_folder.cache_directory() == tmp_path / "mine"
    monkeypatch.delenv("CROWDSIM_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder.cache_directory() == tmp_path / "xdg" / "crowdsim"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder.cache_directory() == tmp_path / "home" / ".cache" / "crowdsim"


def test_a_file_from_the_future_is_no_edit(package):
    path = (package / "walkers/deep.py").resolve()
    assert sources.edited_since_start(path)
    soon = time.time() + 3600.0
    os.utime(path, (soon, soon))
    assert {module.name for module in sources.closure(path)} == {
        "__init__.py",
        "front_doors.py",
        "old_names.py",
        "decorator.py",
        "compiling.py",
        "front_end.py",
        "wrapping.py",
        "fitting.py",
        "ranges.py",
        "sources.py",
        "cache_folder.py",
        "deep.py",
    }
    assert not sources.edited_since_start(path)


def test_a_module_is_made_of_what_it_imports_and_not_of_the_whole_package():
    found = {
        path.relative_to(ROOT / "crowdsim").as_posix()
        for path in sources.closure(ROOT / "crowdsim/bodies/integrate.py")
    }
    assert {"bodies/integrate.py", "kernels/decorator.py", "kernels/sources.py"} <= found
    assert "__init__.py" not in found and len(found) < 12
