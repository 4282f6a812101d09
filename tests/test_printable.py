"""What reaches a terminal is seen, never obeyed; and a command that is named can be copied into a shell."""

from __future__ import annotations

import json
import os
import subprocess
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from crowdsim.commands import command, quoted
from crowdsim.printable import is_printable, summary_of, visible

EVIL = (
    "\x1b[31mred\x1b[0m",
    "\x9b2J",
    "\x07",
    "a\rb",
    "\u202egpj.exe",
    "\u2066x\u2069",
    "\x7f",
    "zero\u200bwidth",
    "\u2028",
    "\ufeff",
    "\U000e0041",
    "\udce9",
    "\x00",
)


@pytest.mark.parametrize("text", EVIL)
def test_what_a_terminal_would_obey_is_written_out(text):
    shown = visible(text)
    assert all(is_printable(letter) for letter in shown) and shown != text
    assert json.loads(f'"{shown}"') == text  # as JSON has it, so that it can be put back


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "Zürich Hbf",
        "größe",
        "東京駅",
        "ทางออก",
        "خروج",
        "שלום",
        "exit 1 (north)",
        "👨\u200d👩\u200d👧",
        "é",
        "a\xa0b",
        "~!@#$%^&*(){}[]|\\:;\"'<>,.?/`",
    ],
)
def test_names_of_all_languages_stay_as_they_are(text):
    assert visible(text) == text


def test_every_character_is_shown_or_written_out():
    for number in [*range(0x3000), *range(0xD7F0, 0xE010), *range(0xFE00, 0x10000), *range(0xE0000, 0xE0200)]:
        letter = chr(number)
        shown = visible(letter)
        harmful = (
            unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter not in "\u200c\u200d"
        )
        assert shown == letter if not harmful else shown.startswith("\\u") and shown.isascii()


def test_line_breaks_are_kept_where_they_are_ours():
    assert visible("a\nb\tc\rd", keep="\n\t") == "a\nb\tc\\u000dd"


NAMES = [
    "a.h5",
    "a b.h5",
    "it's.h5",
    'say "hi".h5',
    "$(touch hacked).h5",
    "`touch hacked`.h5",
    "a;touch hacked;.h5",
    "a\nb.h5",
    "-rf.h5",
    "--force",
    "\x1b[31m.h5",
    "été.h5",
    "\udce9.h5",
    "*.h5",
    "~x",
    "a\\b.h5",
    "\u202eh5.a",
    "#x",
    "!x",
    "x&y",
    "a|b",
    "{a,b}",
    "a'\x1b'b",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_command_names_the_file_whatever_it_is_called(tmp_path, name):
    """Bash takes the words apart as they were put together."""
    text = command("info", Path(name))
    assert "\x1b" not in text and "\u202e" not in text
    program = text.replace("crowdsim info", 'printf "%s\\0"', 1)
    done = subprocess.run(["bash", "-c", program], capture_output=True, cwd=tmp_path, check=True)
    assert Path(os.fsdecode(done.stdout.split(b"\0")[0])) == Path(name) and done.stdout.count(b"\0") == 1
    assert list(tmp_path.iterdir()) == []
    if name.startswith("-"):
        assert text.endswith(f"./{name}")


def test_random_words_come_back_from_a_shell(tmp_path):
    rng = np.random.default_rng(1)
    letters = [*"ab '\"\\$`!*?[]{}()<>|&;#~=%^-+,.:/\t\n", "\x1b", "\x01", "é", "\u202e", "漢", "\x7f"]
    words = ["".join(rng.choice(letters, size=int(rng.integers(1, 12)))) for _ in range(200)]
    program = 'printf "%s\\0" ' + " ".join(quoted(word) for word in words)
    done = subprocess.run(["bash", "-c", program], capture_output=True, cwd=tmp_path, check=True)
    assert [part.decode() for part in done.stdout.split(b"\0")[:-1]] == words


@pytest.mark.parametrize(
    ("about", "line"),
    [
        (None, ""),
        ("Go on.", "Go on."),
        (
            "Go on, however far it is,\n    to the end.\n\n    More of it.\n    ",
            "Go on, however far it is, to the end.",
        ),
        ("\n    Go on.\n    ", "Go on."),
    ],
)
def test_the_summary_of_a_class_is_its_first_paragraph_on_one_line(about, line):
    assert summary_of(type("Thing", (), {"__doc__": about})) == line
