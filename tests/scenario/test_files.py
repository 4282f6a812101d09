"""Files that a scenario is read from, or names:
encodings, what is no file, and which folders are permitted.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import load_scenario
from tests.scenario.worlds import SMALL, with_line

TEXT = with_line("name", "größe 部屋").encode()


def message(path: Path, **options: object) -> str:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path, **options)  # type: ignore[arg-type]
    return (
        "\n".join(str(problem) for problem in caught.value.problems)
        .replace(str(path), "FILE")
        .replace(str(path.parent), "FOLDER")
    )


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        b"\xef\xbb\xbf" + TEXT,
        TEXT.replace(b"\n", b"\r\n"),
        b"\xff\xfe" + TEXT.decode().encode("utf-16-le"),
        b"\xfe\xff" + TEXT.decode().encode("utf-16-be"),
    ],
    ids=["utf-8", "byte order mark", "windows line ends", "utf-16 little", "utf-16 big"],
)
def test_texts_are_read_in_the_encodings_that_editors_write(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "übung 1.yaml"
    path.write_bytes(data)
    assert load_scenario(path).name == "größe 部屋"


def test_a_scenario_without_a_name_is_called_as_its_file(tmp_path: Path) -> None:
    path = tmp_path / "große Halle.yaml"
    path.write_text(with_line("seed", "1"), encoding="utf-8")
    assert load_scenario(path).name == "große Halle"


def test_each_thing_that_is_no_scenario_file_gets_one_clear_message(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    assert message(path) == "FILE: there is no such file"
    (tmp_path / "y.yaml").write_text("version: 1")
    assert message(path) == "FILE: there is no such file\n    Beside it there is y.yaml."
    assert (
        message(tmp_path / "no" / "x.yaml")
        == 'FILE: there is no such file\n    There is no folder "FOLDER" either.'
    )
    assert message(tmp_path) == "FILE: this is a folder, not a file\n    Name a file in it."
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    assert message(path) == (
        "FILE: this is not text in UTF-8: byte 0x89 at position 0 (line 1)\n"
        "    Save it as UTF-8; a binary file is no scenario and no geometry."
    )
    path.write_bytes(b"version: 1\n\0\0")
    assert message(path) == "FILE: this is a binary file, not text"
    path.write_bytes(b"")
    assert message(path) == 'FILE: the file is empty\n    Begin with "crowdsim new my_scenario.yaml".'


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert (
        message(tmp_path / "pipe.yaml")
        == "FILE: this is a device or a pipe, not a file\n    Name a regular file."
    )
    with pytest.raises(ScenarioError, match="device or a pipe"):
        load_scenario("/dev/zero")


def test_a_file_that_may_not_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("version: 1")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)  # permissions do not stop the superuser
    assert message(path) == "FILE: the file may not be read\n    Change its permissions."


def test_a_large_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    with path.open("wb") as stream:
        stream.truncate(10**12)  # a sparse file: a terabyte that takes no room
    assert message(path) == "FILE: the file is larger than 32 MiB\n    Simplify its geometry, or split it."


@pytest.mark.parametrize("name", ["a\0b.yaml", "x" * 5000 + ".yaml"])
def test_impossible_names_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError):
        load_scenario(tmp_path / name)


# Files that a scenario names
# ------------------------------------------------------------------------------------------------------------

PLAN = "POLYGON ((0 0, 10 0, 10 8, 0 8, 0 0))"


def scenario_naming(name: str, folder: Path) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(with_line("geometry", f"{{walkable: {{wkt_file: '{name}'}}}}"))
    return path


def test_named_files_are_looked_for_beside_the_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "plan.wkt").write_text(PLAN)
    path = scenario_naming("maps/plan.wkt", tmp_path)
    assert load_scenario(path).geometry.walkable.area == 80
    monkeypatch.chdir(tmp_path.parent)
    assert load_scenario(path.relative_to(tmp_path.parent)).geometry.walkable.area == 80
    monkeypatch.chdir(tmp_path)
    assert load_scenario("scenario.yaml").geometry.walkable.area == 80


@pytest.mark.parametrize("way", ["relative", "absolute", "link"])
def test_files_elsewhere_need_permission(way: str, tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "plan.wkt").write_text(PLAN)
    (inside / "link.wkt").symlink_to(outside / "plan.wkt")
    path = scenario_naming(
        {"relative": "../out/plan.wkt", "absolute": str(outside / "plan.wkt"), "link": "link.wkt"}[way],
        inside,
    )
    found = message(path)
    assert "lies outside the scenario's folder" in found
    assert f"--allow-dir {outside}" in found
    assert load_scenario(path, allow_dirs=[outside]).geometry.walkable.area == 80


def test_a_folder_that_only_begins_like_a_permitted_one_is_not_permitted(tmp_path: Path) -> None:
    for name in ("maps", "maps2", "in"):
        (tmp_path / name).mkdir()
    (tmp_path / "maps2" / "plan.wkt").write_text(PLAN)
    assert "lies outside" in message(
        scenario_naming("../maps2/plan.wkt", tmp_path / "in"), allow_dirs=[tmp_path / "maps"]
    )


def test_a_loop_of_links_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert "geometry.walkable: a: the file can" in message(scenario_naming("a", tmp_path))


def test_a_text_without_a_folder_can_name_no_files() -> None:
    from crowdsim.scenario.load import parse_scenario

    with pytest.raises(ScenarioError, match="cannot name files"):
        parse_scenario(
            SMALL.replace(
                "[{name: room, box: [0, 0, 10, 8]}, {name: hall, box: [10, 0, 14, 8]}]",
                "{wkt_file: plan.wkt}",
            )
        )
