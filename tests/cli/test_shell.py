"""The command line itself: help, errors, exit codes, pipes, and how little it loads."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crowdsim.cli import main, shell
from crowdsim.cli.verbs import VERBS
from crowdsim.errors import CrowdsimError, ExitCode, Problem, RecordingError, ScenarioError

ROOT = Path(__file__).resolve().parents[2]


def command(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "crowdsim.cli", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


def called(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def test_help_lists_every_verb_with_a_line() -> None:
    found = command("--help")
    assert found.returncode == 0
    for name, about in VERBS.items():
        assert f"  {name} " in found.stdout
        assert about.split()[0] in found.stdout


def test_help_answers_at_once_and_loads_nothing_heavy() -> None:
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # of the processor: other programs do not count
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 0.3
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "crowdsim.cli", "--help"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    modules = {line.rpartition("|")[2].strip().split(".")[0] for line in loaded.stderr.splitlines()}
    assert "typer" in modules
    assert not modules & {
        "numba",
        "numpy",
        "pandas",
        "shapely",
        "h5py",
        "pydantic",
        "rich",
        "yaml",
        "esper",
        "matplotlib",
    }


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", VERBS)
def test_every_verb_explains_itself_without_loading_anything_heavy(name: str) -> None:
    code = f"""
import sys
from crowdsim.cli import main
try:
    main([{name!r}, "--help"])
except SystemExit as leave:
    assert not leave.code
# typer itself may load pydantic
assert not {{"numba", "numpy", "pandas", "shapely", "h5py", "rich", "yaml"}} & set(sys.modules)
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(f"Usage: crowdsim {name}")
    assert "--help" in found.stdout


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["schem"], 'There is no verb "schem". Did you mean "schema"?'),
        (["dance"], 'There is no verb "dance". Known are '),
        (["--colour"], "No such option: --colour"),
        (["schema", "extra"], "extra"),
    ],
)
def test_wrong_arguments_give_a_message_and_exit_code_2(arguments: list[str], message: str) -> None:
    found = command(*arguments)
    assert found.returncode == ExitCode.USAGE
    assert message in found.stderr
    assert "Traceback" not in found.stderr


def test_the_version_is_printed() -> None:
    found = command("--version")
    assert found.returncode == 0
    assert found.stdout.startswith("crowdsim")


def test_our_own_errors_become_messages_with_their_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    import typer

    def verb(error: Exception, json: bool = False) -> None:
        raise error

    def outcome(error: Exception, **options: Any) -> tuple[int, str, str]:
        with pytest.raises(typer.Exit) as caught:
            shell.guarded(verb)(error, **options)
        printed = capsys.readouterr()
        return caught.value.exit_code, printed.out, printed.err

    problem = Problem("groups[0].count", "is -1, but must be at least 0", "Give 0 or more.", "a.yaml", 3, 5)
    assert outcome(ScenarioError(problem)) == (
        2,
        "",
        "a.yaml:3:5: groups[0].count: is -1, but must be at least 0\n    Give 0 or more.\n",
    )
    assert outcome(ScenarioError([problem, problem]))[2].endswith("\n2 problems\n")
    assert outcome(RecordingError("cannot be read")) == (4, "", "cannot be read\n")
    assert outcome(KeyboardInterrupt()) == (130, "", "interrupted\n")
    code, out, err = outcome(ScenarioError(problem), json=True)
    assert (code, err) == (2, "")
    assert '"ok": false' in out
    assert '"line": 3' in out
    assert '"message": "no such run"' in outcome(CrowdsimError("no such run"), json=True)[1]
    with pytest.raises(ZeroDivisionError):  # a fault of the program stays one
        shell.guarded(verb)(ZeroDivisionError())


def test_a_returned_number_is_the_exit_code() -> None:
    import typer

    with pytest.raises(typer.Exit) as caught:
        shell.guarded(lambda: ExitCode.NOT_ARRIVED)()
    assert caught.value.exit_code == 3


def test_a_reader_that_leaves_early_is_no_error() -> None:
    script = f"{sys.executable} -m crowdsim.cli new | head -c 1"
    for _ in range(3):
        found = subprocess.run(
            ["bash", "-o", "pipefail", "-c", script],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert found.stderr == ""


def test_a_terminal_without_unicode_shows_question_marks() -> None:
    found = command("new", "größe.txt", env={"PYTHONIOENCODING": "ascii"})
    assert found.returncode == 2
    assert '"gr??e.txt" does not end in .yaml' in found.stderr


def test_tables_are_aligned_and_go_on_in_further_lines_where_the_terminal_is_narrow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    rows = [["a", 5, "one two three " * 5], ["longer", 1000, "short"]]
    piped = shell.table(["name", "n", "about"], rows, right=(1,)).splitlines()
    assert piped[1] == "a          5  " + ("one two three " * 5).rstrip() and len(piped) == 3
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert shell.table(["name", "n", "about"], rows, right=(1,)).splitlines() == [
        "name       n  about",
        "a          5  one two three one two three one two three one",
        "              two three one two three",
        "longer  1000  short",
    ]
    heads = ["name", "flow_per_m_s", *["wide_number"] * 5]
    assert shell.table(heads, [["a", 5, *[7] * 5]], right=range(1, 7)).splitlines() == [
        "name     flow_     wide_     wide_     wide_     wide_     wide_",
        "        per_m_    number    number    number    number    number",
        "             s",
        "a            5         7         7         7         7         7",
    ]
    assert shell.table(["n"], [], right=(0,)) == "n"
    # where nothing can be narrowed, the line is as long as it is
    assert len(shell.table(["n"] * 30, [["12345"] * 30], right=range(30)).splitlines()[1]) == 208


def test_numbers_that_json_does_not_know_are_never_printed() -> None:
    with pytest.raises(ValueError, match="JSON"):
        shell.say_json({"x": float("nan")})


def test_main_takes_arguments_and_leaves_with_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert called("new") == 0
    assert "bottleneck" in capsys.readouterr().out


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("words", "expected"),
    [("crowdsim re", {"recover", "resume"}), ("crowdsim run --th", {"--threads"}), ("crowdsim xyz", set())],
)
def test_a_shell_completes_verbs_and_their_options_at_once(words: str, expected: set[str]) -> None:
    asked = {
        "_CROWDSIM_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "importtime",
            "-c",
            "import sys\nfrom crowdsim.cli import main\nsys.argv[0] = 'crowdsim'\nmain()",
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **asked},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert set(done.stdout.split()) == expected
    assert not {"numba", "pandas", "h5py"} & {
        line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()
    }


def test_completion_is_installed_for_the_shell_in_use(tmp_path: Path) -> None:
    # a shell that is not there is not "in use", as under cron
    asked = f"'{sys.executable}' -m crowdsim.cli --install-completion bash; exit $?"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-c", asked],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0 and "completion installed" in done.stdout
    (script,) = (tmp_path / ".bash_completions").iterdir()
    assert (
        "complete -o default -F" in script.read_text() and str(script) in (tmp_path / ".bashrc").read_text()
    )
    assert "completion" not in command("run", "--help").stdout
