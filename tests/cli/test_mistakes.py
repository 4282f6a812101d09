"""What a user can get wrong: one clear line, the documented exit code, nothing half-written."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import pytest

from crowdsim.cli import main
from crowdsim.cli.verbs import VERBS
from crowdsim.errors import ExitCode
from tests.cli.command import crowdsim, environment
from tests.cli.conftest import SMALL
from tests.crowds import ROOT

RECORDING_VERBS = ("info", "verify", "plot", "recover", "export", "view")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recording")
    (folder / "small.yaml").write_text(SMALL)
    assert crowdsim(["run", folder / "small.yaml", "-q", "-o", folder / "run.h5"]).returncode == 0
    return folder / "run.h5"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recording: Path) -> Path:
    """A folder with all kinds of files, as the current one."""
    (tmp_path / "good.yaml").write_text(SMALL)
    (tmp_path / "dir").mkdir()
    shutil.copy(recording, tmp_path / "good.h5")
    data = recording.read_bytes()
    (tmp_path / "cut.h5").write_bytes(data[: len(data) // 2])
    (tmp_path / "text.h5").write_text("no recording")
    (tmp_path / "empty.h5").write_bytes(b"")
    (tmp_path / "empty.yaml").write_bytes(b"")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "dangling.yaml").symlink_to("nowhere.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    os.mkfifo(tmp_path / "pipe.h5")
    with h5py.File(tmp_path / "other.h5", "w", libver="latest") as file:
        file["numbers"] = [1, 2, 3]
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(caught.value.code or 0), printed.out, printed.err


def files(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.lstat().st_mtime_ns
        for path in folder.rglob("*")
        if not path.is_dir()
    }


def check(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: list[str], code: int, message: str
) -> None:
    """Run a verb; it has to say the message in a line of its own, with a way out in a second at most,
    and to leave every file as it was.
    """
    before = files(folder)
    found, out, err = outcome(capsys, *arguments)
    assert (found, out) == (code, ""), err
    assert re.search(message, err), err
    assert "Traceback" not in err and len(err.strip().splitlines()) <= 2
    assert files(folder) == before


@pytest.mark.parametrize("verb", ["run", "validate"])
@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("missing.yaml", "^missing.yaml: there is no such file"),
        ("dangling.yaml", "^dangling.yaml: there is no such file"),
        ("dir", "^dir: this is a folder, not a file"),
        ("", "this is a folder, not a file"),
        ("pipe.yaml", "^pipe.yaml: this is a device or a pipe"),
        ("binary.yaml", "^binary.yaml: this is not text in UTF-8"),
        ("good.h5", "^good.h5: this is not text in UTF-8"),
        ("empty.yaml", "^empty.yaml: the file is empty"),
    ],
)
def test_what_is_no_scenario(capsys, folder, verb, file, message):
    check(capsys, folder, [verb, file], ExitCode.USAGE, message)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("missing.yaml", "^missing.yaml: there is no such file"),
        ("pipe.yaml", "^pipe.yaml: this is a device or a pipe"),
        ("binary.yaml", "^binary.yaml: this is not text in UTF-8"),
        ("empty.yaml", "^empty.yaml: the file is empty"),
    ],
)
def test_what_is_no_scenario_to_draw(capsys, folder, file, message):
    check(capsys, folder, ["plot", file], ExitCode.USAGE, message)


@pytest.mark.parametrize("verb", RECORDING_VERBS)
@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("missing.h5", "^missing.h5: there is no such file"),
        ("dir", "^dir: is a folder( or a device|, but not of a sweep)"),
        ("pipe.h5", "^pipe.h5: is a folder or a device"),
        ("text.h5", "^text.h5: is not an HDF5 file"),
        ("empty.h5", "^empty.h5: is empty"),
        ("cut.h5", r"^cut.h5: ends after [\d,]+ of its [\d,]+ bytes: it was cut off in copying\."),
        ("other.h5", "^other.h5: is damaged or no recording"),
    ],
)
def test_what_is_no_recording(capsys, folder, verb, file, message):
    check(capsys, folder, [verb, file], ExitCode.RECORDING, message)


@pytest.mark.parametrize("verb", ["plot", "recover", "export", "view"])
def test_an_empty_name(capsys, folder, verb):
    check(capsys, folder, [verb, ""], ExitCode.USAGE, r"^The name of the file is empty\.$")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "good.yaml", "-o", ""], 2, r"^The name of the file is empty\.$"),
        (
            ["run", "good.yaml", "-o", "dir"],
            2,
            r'^"dir" is a folder\. Name a file in it, for example dir/name\.h5\.$',
        ),
        (
            ["run", "good.yaml", "-o", "nowhere/a.h5"],
            4,
            r'^There is no folder "nowhere" to write "a\.h5" into\.',
        ),
        (["run", "good.yaml", "-o", "good.h5/a.h5"], 4, r'^There is no folder "good\.h5"'),
        (
            ["run", "good.yaml", "-o", "good.yaml", "--force"],
            2,
            r'^"good\.yaml": a recording ends in \.h5 or \.hdf5\. Write for example good\.h5\.$',
        ),
        (
            ["run", "good.yaml", "--no-record", "-o", "a.h5", "--trace"],
            2,
            "^--no-record leaves nothing to do for --out and --trace",
        ),
        (["run", "good.yaml", "--no-record", "--force"], 2, "^--no-record leaves nothing to do for --force"),
        (["plot", "good.h5", "-o", "nowhere/a.png"], 4, '^There is no folder "nowhere"'),
        (["plot", "good.h5", "-o", "dir"], 2, '^"dir" is a folder'),
        (
            ["plot", "good.h5", "-o", "a.gif"],
            2,
            r"a picture ends in \.png, \.svg or \.pdf\. Write for example a\.png\.$",
        ),
        (["plot", "good.h5", "-o", "good.h5", "--force"], 2, "a picture ends in"),
        (
            ["plot", "good.h5", "--show", "mesh"],
            2,
            (
                '^--show names "mesh", but of a recording there are trails, density, curve, speeds, budget, '
                "and all"
            ),
        ),
        (
            ["plot", "good.h5", "--show", "all", "--explain", "1", "--at", "2"],
            2,
            "^--explain draws one choice and --show panels of the whole run",
        ),
        (
            ["plot", "good.h5", "--show", "all", "--radius", "2"],
            2,
            "^--radius, --seed, --set, --allow-dir and --plugin are of scenarios",
        ),
        (["export", "good.h5", "-o", "nowhere/a.csv"], 4, '^There is no folder "nowhere"'),
        (["export", "good.h5", "-o", "dir", "--force"], 2, '^"dir" is a folder'),
        (
            ["export", "good.h5", "-o", "good.h5", "--force"],
            2,
            r"a file of the format csv ends in \.csv or \.txt",
        ),
        (["export", "good.h5", "--columns", "velocty"], 4, "there is no column 'velocty'"),
        (
            ["export", "good.h5", "-f", "sqlite", "--columns", "velocity"],
            4,
            "^--columns belongs to --format csv",
        ),
        (["recover", "good.h5"], 4, "is whole already"),
        (
            ["recover", "good.h5", "-o", "good.h5", "--force"],
            2,
            r'^"good\.h5" is the file that is read, and is not written over',
        ),
        (["recover", "good.h5", "-o", "nowhere/a.h5"], 4, '^There is no folder "nowhere"'),
        (["list", "nowhere"], 2, '^There is no folder "nowhere"'),
        (["list", "good.yaml"], 2, '^There is no folder "good.yaml"'),
        (["list", "dir"], 2, '^The folder "dir" has no scenarios'),
        (["new", "dir"], 2, r'"dir" does not end in \.yaml'),
        (["new", "nowhere/a.yaml"], 2, '^There is no folder "nowhere"'),
    ],
)
def test_where_something_cannot_be_written_or_read(capsys, folder, arguments, code, message):
    check(capsys, folder, arguments, code, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "good.yaml", "--threads", "-1"], "'--threads' / '-j'.* See: crowdsim run --help$"),
        (["run", "good.yaml", "--threads", "two"], "'--threads' / '-j'.* See: crowdsim run --help$"),
        (
            ["run", "good.yaml", "--threads", "9999"],
            "^threads is 9999, but must be a whole number from 1 to 1,024",
        ),
        (["run", "good.yaml", "--seed", "nan"], "'--seed'"),
        (["run", "good.yaml", "--seed", "-1"], "'--seed'"),
        (
            ["run", "good.yaml", "--seed", "99999999999999999999"],
            "seed: is 99999999999999999999, but may be at most 9223372036854775807$",
        ),
        (["run", "good.yaml", "--time-limit", "nan"], "'--time-limit'|time limit"),
        (["run", "good.yaml", "--time-limit", "-1"], "'--time-limit'"),
        (
            ["run", "good.yaml", "--set", "seed=.nan"],
            r"^--set seed=\.nan: seed: \.nan is not a finite number",
        ),
        (["run", "good.yaml", "--set", "tick=0"], "^--set tick=0: tick: is 0 s, but must be above 0 s"),
        (["run", "good.yaml", "--set", "sead=1"], '^--set sead=1: sead: there is no key "sead" here'),
        (
            ["run", "good.yaml", "--set", "groups.9.count=1"],
            '^--set groups.9.count=1: groups: has no item "9"',
        ),
        (["run", "good.yaml", "--set", "count"], '"count" is not of the form key=value'),
        (["run", "good.yaml", "--set", "groups.crowd.count=["], "this is not YAML"),
        (
            ["run", "good.yaml", "--allow-dir", "nowhere"],
            '^--allow-dir nowhere: there is no folder "nowhere"',
        ),
        (
            ["validate", "good.yaml", "--allow-dir", "good.yaml"],
            '^--allow-dir good.yaml: there is no folder "good.yaml"',
        ),
        (["run", "good.yaml", "other.yaml"], r"unexpected extra argument.* See: crowdsim run --help$"),
        (["run"], r"Missing argument.* See: crowdsim run --help$"),
        (["run", "good.yaml", "--treads", "1"], r"No such option: --treads.* See: crowdsim run --help$"),
        (["verify", "good.h5", "-j", "-1"], "'--threads' / '-j'"),
        (["export", "good.h5", "-f", "xlsx"], "'xlsx' is not one of"),
        (["parameters", "zzz"], 'No tunable number has a name that begins with "zzz"'),
        (["schema", "--json"], "No such option: --json"),
        (["dance"], 'There is no verb "dance".* See: crowdsim --help$'),
    ],
)
def test_wrong_values_of_options(capsys, folder, arguments, message):
    as_json = "--json" in arguments
    before = files(folder)
    code, out, err = outcome(capsys, *arguments)
    assert code == ExitCode.USAGE
    said = json.loads(out)["problems"][0]["message"] if as_json else err
    assert re.search(message, said.strip()), said
    assert len(err.strip().splitlines()) <= 2 and "Traceback" not in err
    assert {name: time for name, time in files(folder).items() if name in before} == before
    assert not [name for name in files(folder) if name not in before and not name.startswith("runs")]


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "text.h5"],
        ["verify", "text.h5"],
        ["run", "empty.yaml"],
        ["validate", "empty.yaml"],
        ["list", "nowhere"],
        ["run", "good.yaml", "-j", "x"],
    ],
)
def test_with_json_mistakes_are_json_too(capsys, folder, arguments):
    code, out, err = outcome(capsys, *arguments, "--json")
    answer = json.loads(out)
    assert code in (2, 4) and err == "" and answer["ok"] is False and answer["problems"][0]["message"]


def test_every_verb_is_asked_for_a_missing_file_or_a_wrong_option(folder, capsys):
    for verb in VERBS:
        code, out, err = outcome(capsys, verb, "--no-such-option")
        assert (code, out) == (2, "") and f"See: crowdsim {verb} --help" in err and len(err.splitlines()) == 1


def test_the_folder_of_recordings_that_cannot_be_made(capsys, folder):
    (folder / "runs").write_text("a file")
    check(
        capsys,
        folder,
        ["run", "good.yaml"],
        ExitCode.RECORDING,
        r"^runs: the folder for recordings cannot be made .* with --out FILE\.$",
    )


def test_a_scenarios_name_with_slashes_stays_in_the_folder_of_recordings(folder):
    done = crowdsim(
        ["run", "good.yaml", "-q", "--set", "stop.after=0.5", "--set", "name=../../up/a b"], cwd=folder
    )
    assert (done.returncode, done.stderr) == (3, "")
    assert [path.name for path in (folder / "runs").iterdir()] == ["_.._up_a b.h5"]


def obey_permissions() -> None:
    """Give up the right of the superuser to write where the permissions say no (CAP_DAC_OVERRIDE);
    for others that is so already.
    """
    drop, override = 24, 1  # PR_CAPBSET_DROP; see linux/prctl.h and linux/capability.h
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(drop, override, 0, 0, 0):
        os._exit(99)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (("run", "good.yaml"), 4, "the folder for recordings cannot be made (Permission denied)"),
        (("run", "good.yaml", "-o", "a.h5"), 4, "read-only for this user"),
        (("plot", "good.h5"), 4, "could not be written (Permission denied)"),
        (("export", "good.h5"), 4, "could not be written (Permission denied)"),
        (("new", "a.yaml"), 2, "cannot be written: Permission denied"),
    ],
)
def test_folders_that_may_not_be_written(tmp_path, recording, arguments, code, message):
    (tmp_path / "good.yaml").write_text(SMALL)
    shutil.copy(recording, tmp_path / "good.h5")
    tmp_path.chmod(0o555)
    try:
        done = crowdsim(arguments, cwd=tmp_path, preexec_fn=obey_permissions)
        if done.returncode == 99:
            pytest.skip("the superuser's rights cannot be given up here")
        assert (
            (done.returncode, done.stdout) == (code, "")
            and message in done.stderr
            and len(done.stderr.splitlines()) == 1
        ), done.stderr
    finally:
        tmp_path.chmod(0o755)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.h5", "good.yaml"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("arguments", [["new"], ["parameters"], ["schema"]])
def test_an_output_on_a_full_disk_is_one_line(arguments):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "crowdsim.cli", *arguments],
            cwd=ROOT,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (4, "The output cannot be written (No space left on device).\n")


PICTURE_ON_A_FULL_DISK = """
from pathlib import Path
import matplotlib.figure
from crowdsim.cli import main

def fail(self, out, **options):
    Path(out).write_bytes(b"half a picture")
    raise OSError(28, "No space left on device")

matplotlib.figure.Figure.savefig = fail
main(["plot", "good.h5"])
"""


@pytest.mark.full
def test_a_picture_is_whole_or_not_there(folder):
    pytest.importorskip("matplotlib")
    before = files(folder)
    done = subprocess.run(
        [sys.executable, "-c", PICTURE_ON_A_FULL_DISK],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ExitCode.RECORDING and done.stderr.startswith(
        "good.png: could not be written (No space left on device)"
    )
    assert files(folder) == before
    assert crowdsim(["plot", "good.h5"], cwd=folder).stdout == "good.png\n"
    assert (folder / "good.png").read_bytes().startswith(b"\x89PNG")
    assert set(files(folder)) - set(before) == {"good.png"}


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["list", "scenarios"]])
def test_a_full_disk_behind_the_output_is_one_sentence(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "crowdsim.cli", *arguments],
            cwd=ROOT,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == ExitCode.RECORDING
    assert done.stderr == "The output cannot be written (No space left on device).\n"


def test_a_scenario_that_cannot_be_built_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "full.yaml").write_text(SMALL.replace("count: 8", "count: 5000"))
    done = crowdsim(["run", "full.yaml"], cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE and "they cannot fit" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["full.yaml"]
