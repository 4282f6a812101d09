"""The reader of YAML: places, limits, and what is refused."""

from __future__ import annotations

import time
import tracemalloc

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.errors import ScenarioError
from crowdsim.scenario.tree import UNUSABLE, Node, Place, described, item_text, plain
from crowdsim.scenario.yaml_reader import ScalarRefused, read_yaml, scalar_value


def read(text: str) -> Node:
    root, problems = read_yaml(text, "f.yaml")
    assert problems == []
    assert root is not None
    return root


def refusal(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        read_yaml(text, "f.yaml")
    return str(caught.value.problems[-1]).splitlines()[0]


def test_every_key_and_value_knows_its_line_and_column() -> None:
    root = read("a: 1\nb:\n  - {c: x, d: [1.5, 2]}\n  - e\n")
    assert root.place_of(("b", 0, "d")) == Place("f.yaml", 3, 15)
    assert root.place_of(("b", 0, "d"), key=True) == Place("f.yaml", 3, 12)
    assert root.place_of(("b", 0, "d", 1)) == Place("f.yaml", 3, 21)
    assert root.place_of(("b", 1)) == Place("f.yaml", 4, 5)


def test_the_place_of_what_is_missing_is_that_of_the_nearest_thing_above() -> None:
    assert read("a: 1\nb:\n  c: 2\n").place_of(("b", "nothing", 3)) == Place("f.yaml", 3, 3)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_lines_are_counted_with_either_kind_of_line_end(ends: str) -> None:
    assert read(f"a: 1{ends}# comment{ends}{ends}bé: 2{ends}").place_of(("bé",)) == Place("f.yaml", 4, 5)


def test_columns_count_characters_not_bytes() -> None:
    assert read("{ééé: 1, b: 2}").place_of(("b",), key=True) == Place("f.yaml", 1, 10)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("+4", 4),
        ("0", 0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1E-2", 0.01),
        ("-1.5e+2", -150.0),
        ("1e-05", 1e-05),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("n", "n"),
        ("2024-01-01", "2024-01-01"),
        ("1.2.3", "1.2.3"),
        ("1,5", "1,5"),
        ("5 m", "5 m"),
        ("-", "-"),
        ("+", "+"),
        (".", "."),
        ("...", "..."),
        ("e5", "e5"),
        ("1e", "1e"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("Infinity", "Infinity"),
        ("--1", "--1"),
        ("0x", "0x"),
    ],
)
def test_unquoted_words_mean_what_a_reader_expects(text: str, value: object) -> None:
    found = scalar_value(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        ("017", "Write 17,"),
        ("-08", "Write -8,"),
        ("0o17", "Write 15,"),
        ("0x1F", "Write 31,"),
        ("0b101", "Write 5,"),
        ("1_000", "Write 1000,"),
        ("1:30", "Write 90 (seconds),"),
        ("1:00:00.5", "Write 3600.5 (seconds),"),
        (".nan", "Give a number,"),
        ("-.inf", "Give a number,"),
        ("1e999", "The largest"),
        ("9" * 41, "Write at most 40"),
        ("1" * 5000, "Write at most 40"),
    ],
)
def test_words_that_are_ambiguous_are_refused_with_the_way_to_write_them(text: str, way_out: str) -> None:
    with pytest.raises(ScalarRefused) as caught:
        scalar_value(text)
    assert caught.value.way_out.startswith(way_out)


def test_quoted_words_are_texts_whatever_they_look_like() -> None:
    assert plain(read("[\"017\", '1:30', \"true\", '']")) == ["017", "1:30", "true", ""]


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_that_python_writes_is_read_back_exactly(number: float) -> None:
    assert scalar_value(repr(number)) == number


# PyYAML folds these three into blanks
CHARACTERS = st.characters(exclude_characters="\x85\u2028\u2029", exclude_categories=("Cs",))
# it leaves 0E0 bare, which is a number in JSON
TEXTS = st.text(CHARACTERS, max_size=8).filter(lambda text: text[:1] not in "0123456789+-." or not text)
LEAVES = (
    st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
)


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS.filter(bool), inner, max_size=4),
        max_leaves=12,
    )
)
def test_what_a_yaml_writer_wrote_is_read_as_it_was(value: object) -> None:
    root, problems = read_yaml(yaml.safe_dump(value, allow_unicode=True), "f")
    assert problems == []
    assert root is not None
    assert plain(root) == value


def test_duplicate_keys_are_told_with_both_lines_and_the_first_stays() -> None:
    root, problems = read_yaml("a: 1\nb: 2\na: 3\n", "f.yaml")
    assert [str(problem).splitlines()[0] for problem in problems] == [
        'f.yaml:3:1: a: the key "a" stands twice in one mapping, first at line 1'
    ]
    assert root is not None
    assert plain(root) == {"a": 1, "b": 2}


def test_aliases_and_merged_mappings_are_followed_and_own_keys_win() -> None:
    root = read(
        "base: &base {speed: 1, radius: 2}\none: {<<: *base, radius: 3}\n"
        "two: {<<: [*base, {name: x, speed: 9}]}\nthree: *base\n"
    )
    assert plain(root)["one"] == {"radius": 3, "speed": 1}
    assert plain(root)["two"] == {"speed": 1, "radius": 2, "name": "x"}
    assert plain(root)["three"] == {"speed": 1, "radius": 2}
    assert root.place_of(("one", "speed")) == Place("f.yaml", 1, 21)


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    assert plain(read('{"<<": 1}')) == {"<<": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x [*x]", "f.yaml:1:8: a[0]: *x stands inside the value that it names"),
        ("a: *b", "f.yaml:1:4: a: *b names nothing that stands before it"),
        ("? [a]\n: 1", "f.yaml:1:3: a key is a list, a mapping or an alias"),
        ("a: 1\n---\nb: 2", "f.yaml:2:1: a second document begins here"),
        ("a: 'b\n", "f.yaml:2:1: the quoted text that begins at line 1, column 4 is not closed"),
        ('a: "\\q"', "f.yaml:1:5: a backslash in double quotes begins no known escape"),
        ("a: @b", "f.yaml:1:4: a value cannot begin with @"),
        ("a:1\nb: 2", "f.yaml:2:2: a colon stands where no key can be"),
        ("{a: 1, b: 2", "f.yaml:2:1: the mapping that begins at line 1, column 1 goes wrong here"),
        ("- a\nb: 1", "f.yaml:2:1: this line does not fit into the list that begins at line 1, column 1"),
        ("a: b\nc", "f.yaml:3:1: the key that begins at line 2, column 1 has no colon"),
        ("a: b\x07c", "f.yaml:1:5: a control character (code 0x07) stands here"),
        ("k" * 300 + ": 1", "f.yaml:1:1: a key of 300 characters"),
    ],
)
def test_texts_that_are_no_yaml_are_refused_with_the_place(text: str, message: str) -> None:
    assert refusal(text) == message


def test_tags_are_reported_and_never_carried_out() -> None:
    _, problems = read_yaml("a: !!python/object/apply:os.system ['false']", "f.yaml")
    assert [str(problem).splitlines()[0] for problem in problems] == [
        "f.yaml:1:4: a: the tag !!python/object/apply:os.system is not taken"
    ]


def test_unusable_values_stay_in_the_tree_as_such() -> None:
    root, problems = read_yaml("a: [1, 017]", "f.yaml")
    assert root is not None
    assert plain(root) == {"a": [1, UNUSABLE]}
    assert len(problems) == 1


def _bomb() -> str:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12)]
    return "\n".join(lines)


HOSTILE = {
    "brackets": "[" * 1_000_000,
    "braces": "{a: " * 1_000_000,
    "dashes": "- " * 1_000_000,
    "alias bomb": _bomb(),
    "alias chain": "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 500)),
    "mapping chain": "a0: &a0 {b: 1}\n"
    + "".join(f"a{n}: &a{n} {{<<: *a{n - 1}, c{n}: *a{n - 1}}}\n" for n in range(1, 500)),
    "many values": "[" + "1," * 200_010 + "]",
    "long key": "x" * 10_000_000 + ": 1",
    "commas": "," * 1_000_000,
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_refused_soon(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdsim.scenario.yaml_reader.MAX_NODES", 200_000)
    start = time.process_time()
    assert refusal(HOSTILE[name])
    assert time.process_time() - start < 5.0  # "many values" reads to the limit; all others stop at once


def test_an_alias_bomb_takes_no_memory() -> None:
    tracemalloc.start()
    refusal(HOSTILE["alias bomb"])
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


def test_items_are_named_as_a_user_writes_them() -> None:
    assert item_text(("groups", 2, "agents", 0, "radius")) == "groups[2].agents[0].radius"
    assert item_text(("goals", "back door", "point")) == 'goals["back door"].point'
    assert item_text(()) == ""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "nothing"),
        (True, "the truth value true"),
        (2.0, "the number 2"),
        (1e-05, "the number 1e-05"),
        ("a\nb", 'the text "a?b"'),
        ("", "an empty text"),
        ([], "an empty list"),
        ([1], "a list of 1"),
        ({}, "an empty mapping"),
        ({"a": 1}, "a mapping with the key a"),
        ({"a": 1, "b": 2}, "a mapping with the keys a, b"),
        ("x" * 100, 'the text "' + "x" * 37 + '..."'),
    ],
)
def test_values_are_described_in_words(value: object, words: str) -> None:
    assert described(value) == words
