"""Read a scenario file: YAML to tree, tree to checked shapes, shapes to a resolved scenario,
with all mistakes told at once.
"""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdsim.commands import command
from crowdsim.errors import CrowdsimError, Problem, ScenarioError
from crowdsim.scenario import schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.areas import resolve_areas, resolve_terrain
from crowdsim.scenario.check import GroundCheck, note_idle, note_overlaps
from crowdsim.scenario.connections import Connection, check_excluded, check_keys, resolve_connections
from crowdsim.scenario.draft import Draft, read_draft
from crowdsim.scenario.events import resolve_events
from crowdsim.scenario.files import FileAccess, FileRefused, read_text
from crowdsim.scenario.filters import check_watchers, with_kinds
from crowdsim.scenario.geometry import FloorNames, Geometry, resolve_geometry
from crowdsim.scenario.grid_numbers import check_numbers, navigations_in, numbers_of
from crowdsim.scenario.jumps import resolve_jumps
from crowdsim.scenario.limits import MAX_PROBLEMS
from crowdsim.scenario.machine_checks import check_machines, note_signals
from crowdsim.scenario.machines import MachineReader, group_names, known_to_machines, machines_of_groups
from crowdsim.scenario.measured import resolve_measures
from crowdsim.scenario.model import Event, Goal, Group, MeasuredPlace, Scenario, widest_of
from crowdsim.scenario.named_values import names_used, put_in_values
from crowdsim.scenario.obstacles import Obstacle, resolve_obstacles
from crowdsim.scenario.overrides import apply_overrides
from crowdsim.scenario.parameters import (
    SECTIONS,
    SYSTEMS,
    Chosen,
    resolve_section,
    tunables_of,
)
from crowdsim.scenario.queues import Queue, resolve_queues
from crowdsim.scenario.recorded import resolve_record
from crowdsim.scenario.resolve import GoalTable, GroupResolver, resolve_stop
from crowdsim.scenario.schema_connections import CarrierShape
from crowdsim.scenario.storeys import resolve_storeys
from crowdsim.scenario.surfaces import resolve_surface
from crowdsim.scenario.tree import UNUSABLE, Node, Place, Problems, described, listed
from crowdsim.scenario.tree import Path as KeyPath
from crowdsim.scenario.waypaths import Waypath, resolve_waypaths
from crowdsim.scenario.yaml_reader import read_yaml
from crowdsim.tunable import MOST_POINTS

if TYPE_CHECKING:
    from crowdsim.recording.header import Header


_VALUES = "scenario"  # How a mapping is called, and its scenario if it has no name.
_PLANS = (".dxf", ".wkt", ".geojson", ".obj")  # endings of what people run by mistake


def load_scenario(
    given: str | Path | Mapping[str, Any],
    *,
    sets: Sequence[str] = (),
    allow_dirs: Sequence[str | Path] = (),
    folder: str | Path | None = None,
) -> Scenario:
    """Read and check a scenario: a file, or its values.

    Parameters
    ----------
    given : str, Path or mapping
        A file, or a mapping of what a file would hold; numpy's numbers and arrays may stand in it.
    sets : sequence of str
        Values to change first, each ``key=value`` as for ``--set``.
    allow_dirs : sequence of str or Path
        Folders, beside the scenario's own, from which it may name files.
    folder : str or Path, optional
        Where the files that a mapping names lie, if their paths are relative; the working directory by
        default. A file names those of its own folder.

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        With everything that is wrong, in the order of the file; of a mapping each mistake names its key.
    CrowdsimError
        If it is none of these, or a folder is given beside a file.
    """
    if isinstance(given, Mapping):
        return _from_values(given, Path() if folder is None else folder, sets, allow_dirs)
    if not isinstance(given, (str, Path)):
        raise CrowdsimError(f"a scenario is a file or a mapping, not {given!r:.80}.")
    if folder is not None:
        raise CrowdsimError(
            f"a folder is given beside {given}, but a scenario file names files of its own folder. Leave it "
            "out, or use allow_dirs."
        )
    path, target = given, Path(given)
    if target.suffix.lower() in _PLANS and target.is_file():
        raise ScenarioError(
            Problem(
                "",
                "this is a floor plan, not a scenario",
                f"Make a scenario of it: {command('new', '--plan', target, '--run')}",
                str(path),
            )
        )
    try:
        text = read_text(target)
    except FileRefused as refused:
        raise ScenarioError(Problem("", str(refused), refused.way_out, str(path))) from None
    return parse_scenario(text, file=str(path), folder=target.parent, sets=sets, allow_dirs=allow_dirs)


def _from_values(
    values: Mapping[str, Any], folder: str | Path, sets: Sequence[str], allow_dirs: Sequence[str | Path]
) -> Scenario:
    try:
        text = json.dumps(values, default=_plain_value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ScenarioError(
            f"the scenario cannot be written as text ({error}). Give finite numbers, texts, lists and dicts."
        ) from None
    try:
        return parse_scenario(text, file=_VALUES, folder=folder, sets=sets, allow_dirs=allow_dirs)
    except ScenarioError as error:  # it is one long line: places in it say nothing
        raise ScenarioError(
            [
                replace(problem, file="", line=0, column=0) if problem.file == _VALUES else problem
                for problem in error.problems
            ]
        ) from None


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no plain value")


def parse_scenario(
    text: str,
    *,
    file: str = "scenario",
    folder: str | Path | None = None,
    sets: Sequence[str] = (),
    allow_dirs: Sequence[str | Path] = (),
) -> Scenario:
    """Read and check the text of a scenario, for example one that was kept in a recording.

    Parameters
    ----------
    text : str
        YAML.
    file : str
        How messages name the text; the default name of the scenario is made from it.
    folder : str or Path, optional
        Folder from which it may name files; without one it may name none.
    sets, allow_dirs : sequence
        As for `load_scenario`.

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        With everything that is wrong, in the order of the text.
    """
    access = FileAccess(
        Path(folder) if folder is not None else None, tuple(Path(each) for each in allow_dirs)
    )
    with _uncollected():
        return _parse(text, file, access, sets)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector out: it would walk over a growing tree without cycles again and again,
    60 % of the time of large scenarios.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _parse(text: str, file: str, access: FileAccess, sets: Sequence[str]) -> Scenario:
    try:
        root, found = read_yaml(text, file)
    except ScenarioError as error:
        raise _told(error.problems, 0, file) from None
    if root is None:
        root = Node(None, Place(file))
    problems = Problems(root)
    problems.found.extend(found)
    if isinstance(root.value, dict):
        used = names_used(root) if sets and "vars" in root.value else set()
        if sets:
            problems.root = root = apply_overrides(root, sets, problems)
        put_in_values(root, used, problems)
    draft = read_draft(root, problems)
    scenario = _resolve(draft, root, access, problems, file) if draft is not None else None
    if problems.found or scenario is None:
        raise _told(problems.sorted(), problems.uncollected, file)
    return scenario


def _told(problems: Sequence[Problem], uncollected: int, file: str) -> ScenarioError:
    """Return the error of so many problems; what goes beyond the limit is only counted."""
    rest = len(problems) - MAX_PROBLEMS + uncollected
    more = [Problem("", f"and {rest:,} more problem{'s' if rest > 1 else ''}", file=file)] if rest > 0 else []
    return ScenarioError([*problems[:MAX_PROBLEMS], *more])


def _resolve(draft: Draft, root: Node, access: FileAccess, problems: Problems, file: str) -> Scenario | None:
    """Return the scenario of a draft, or None where something is missing;
    what is wrong is added to the problems.
    """
    notes = Problems(root)
    values = draft.values
    reader = AreaReader(access, problems, exact="geometry" in values and values["geometry"].resolved)
    drops: tuple[Connection, ...] = ()
    geometry = None
    if "geometry" in values:
        geometry, drops = _geometry(
            values["geometry"], values.get("connections") or {}, reader, problems, notes
        )
    if geometry is not None and values["geometry"].terrain:
        geometry = resolve_terrain(values["geometry"], geometry, reader, problems)
    if geometry is not None and values["geometry"].areas:
        geometry = resolve_areas(values["geometry"], geometry, reader, problems)
    sections = _sections(
        root, problems, geometry is not None and geometry.is_even, numbers_of(reader.grid_maps)
    )
    systems = _systems(root, problems)
    tick = values.get("tick")
    stop = resolve_stop(values["stop"], tick, problems) if "stop" in values and tick is not None else None
    machines = MachineReader(root, problems)
    used = machines_of_groups(root, draft, machines)
    machines.read_unused()
    floors = FloorNames(geometry, problems)
    table = GoalTable(draft, reader, problems, floors, machines.places())
    queues = resolve_queues(values.get("queues") or {}, group_names(draft), floors, problems)
    connections = resolve_connections(values.get("connections") or {}, geometry, reader, floors, problems)
    connections = tuple(sorted((*connections, *drops), key=lambda each: each.name))
    check_keys({index: shape.keys for index, shape in draft.groups.items()}, connections, problems)
    jumps = resolve_jumps(values.get("jumps"), {each.name for each in connections}, problems)
    behaviours = machines.behaviours(list(used.values()), known_to_machines(draft, table, geometry, queues))
    check_machines(behaviours, problems, are_all=not systems)
    resolver = GroupResolver(
        table, reader, problems, tick, sections, numbers_of(reader.grid_maps),
        {index: instance.name for index, instance in used.items()}, behaviours, values.get("waypaths"),
    )  # fmt: skip
    for index, shape in draft.groups.items():
        resolver.add(index, shape)
    resolver.check_tick()
    goals, groups = table.goals, resolver.groups()
    widest = {group.name: widest_of(group) for group in groups}
    known = {each.name for each in connections}
    waypaths = resolve_waypaths(values.get("waypaths") or {}, geometry, floors, widest, known, problems)
    carriers = (
        *connections,
        *(each.connection() for each in waypaths),
        *(jumps.connections() if jumps is not None else ()),
    )
    check_excluded({index: shape.excludes for index, shape in draft.groups.items()}, carriers, problems)
    navigations = navigations_in(sections.get("navigation"), groups, _indices(draft))
    check_numbers(reader.grid_maps, navigations, root, problems, notes)
    if geometry is not None:
        geometry = with_kinds(geometry, navigations, problems)
        check_watchers(navigations, groups, problems)
        _check_heights(navigations, len(geometry.grounds) > 1, problems)
        if geometry.refill is not None:
            _refuse_with_parts(navigations, waypaths, groups, jumps is not None, problems)
    _refuse_idle_numbers(sections, navigations, geometry, problems)
    obstacles: tuple[Obstacle, ...] = ()
    if "obstacles" in values and geometry is not None:
        obstacles = resolve_obstacles(
            values["obstacles"],
            geometry,
            table.floors,
            tick,
            [area.name for area in geometry.areas],
            problems,
        )
    measures: tuple[MeasuredPlace, ...] = ()
    if "measures" in values and geometry is not None:
        measures = resolve_measures(values["measures"], geometry, reader, problems)
    events: tuple[Event, ...] = ()
    if "events" in values and geometry is not None:
        navigation = sections.get("navigation")
        tile_size = navigation.values.get("tile_size", 0.0) if navigation is not None else math.inf
        areas = {each.name: (each.area, each.layer) for each in measures if each.area is not None}
        areas |= {each.name: (each.area, each.layer) for each in goals if each.area is not None}
        events = resolve_events(values["events"], geometry, groups, tick, tile_size, areas, problems)
    note_signals(behaviours, events, problems)
    record = None
    if "record" in values and tick is not None:
        record = resolve_record(
            values["record"], tick, stop, groups, sections.get("avoidance"), reader, problems,
            has_connections=bool(carriers),
        )  # fmt: skip
    if record is not None and "layer" not in record.columns:
        _refuse_unknown_floors(measures, problems)
    if geometry is not None:
        _check_ground(geometry, goals, groups, queues, connections, table, draft, problems, notes)
    if problems.found or geometry is None or tick is None or stop is None or record is None:
        return None
    note_idle(groups, goals, behaviours, notes)
    for layer in sorted({group.layer for group in groups}):
        note_overlaps([group for group in groups if group.layer == layer], notes)
    notes.found.extend(problems.notes)
    return Scenario(
        name=values.get("name") or Path(file).stem or "scenario",
        description=values["description"],
        seed=values["seed"],
        tick=float(tick),
        stop=stop,
        geometry=geometry,
        goals=goals,
        groups=groups,
        record=record,
        events=events,
        obstacles=obstacles,
        measures=measures,
        systems=systems,
        behaviours=behaviours,
        queues=queues,
        connections=connections,
        waypaths=waypaths,
        jumps=jumps,
        notes=tuple(notes.sorted()),
        file=file,
        **sections,
    )


def _geometry(
    shape: schema.GeometryShape,
    carriers: Mapping[str, CarrierShape],
    reader: AreaReader,
    problems: Problems,
    notes: Problems,
) -> tuple[Geometry | None, tuple[Connection, ...]]:
    """Return where one may walk, or None where there are problems, and what leads over its edges."""
    given = [key for key in ("walkable", "storeys", "surface", "soup") if getattr(shape, key, None)]
    if len(given) > 1:
        problems.add(
            ("geometry", given[1]), f"{given[0]} and {given[1]} are both given", "Keep one of them.", key=True
        )
    elif not given and shape.walkable is None:
        problems.add(
            ("geometry",),
            'the key "walkable" is missing',
            "For example walkable: {box: [0, 0, 10, 8]}, or several storeys.",
        )
    elif given and given[0] != "walkable" and shape.obstacles:
        problems.add(
            ("geometry", "obstacles"),
            f"obstacles stand beside {given[0]}",
            "Move them into the storey on which they stand.",
            key=True,
        )
    elif given == ["storeys"]:
        return resolve_storeys(shape, reader, problems), ()
    else:
        if getattr(shape, "connections", ()):
            problems.add(
                ("geometry", "connections"),
                "connections need storeys to join",
                "Give storeys, or leave them out.",
                key=True,
            )
            return None, ()
        if given == ["surface"]:
            return resolve_surface(shape, reader, problems, notes), ()
        if given == ["soup"]:
            from crowdsim.scenario.soups import resolve_soup  # with kernels, which few scenarios need

            return resolve_soup(shape, carriers, reader, problems, notes) or (None, ())
        return resolve_geometry(shape, reader, problems), ()
    return None, ()


def _sections(
    root: Node, problems: Problems, is_even: bool, grid_numbers: Mapping[str, float]
) -> dict[str, Any]:
    resolved: dict[str, Chosen | None] = {}
    for section in SECTIONS:
        node = root.value.get(section.name)
        if node is not None and node.value is UNUSABLE:
            continue
        resolved[section.name] = resolve_section(
            section, node, problems, is_even=is_even, grid_numbers=grid_numbers
        )
    return resolved


def _systems(root: Node, problems: Problems) -> tuple[Chosen, ...]:
    """Return the systems of a user's own that take part, in the order of the file."""
    node = root.value.get("systems")
    if node is None or node.value is None or node.value is UNUSABLE:
        return ()
    if not isinstance(node.value, list):
        problems.add(
            ("systems",),
            f"expects a list of names, or of {{system: name, ...}}, found {described(node.value)}",
        )
        return ()
    found: list[Chosen] = []
    for index, each in enumerate(node.value):
        path: KeyPath = ("systems", index)
        if isinstance(each.value, dict) and "system" not in each.value:
            problems.add(path, 'the key "system" is missing', "Write {system: name, ...}.")
        elif (chosen := resolve_section(SYSTEMS, each, problems, path=path)) is not None:
            if chosen.name in [other.name for other in found]:
                problems.add(path, f'"{chosen.name}" takes part already', "A system is there once.")
            found.append(chosen)
    return tuple(found)


def _indices(draft: Draft) -> dict[str, int]:
    """Return the index in the file of each group; of groups with one name, the first."""
    found: dict[str, int] = {}
    for index, group in draft.groups.items():
        found.setdefault(group.name, index)
    return found


def _check_heights(navigations: Mapping[KeyPath, Chosen], has_floors: bool, problems: Problems) -> None:
    """Refuse watchers and points that are shunned without a height where there are several floors:
    on which would they be? Elsewhere those with one.
    """
    for path, chosen in navigations.items():
        for key in ("unseen_from", "shun"):
            wrong = [point for point in chosen.values.get(key, ()) if len(point) != 2 + has_floors]
            if wrong and has_floors:
                problems.add(
                    (*path, key),
                    f"the point {list(wrong[0])} has no height, and this geometry has several floors",
                    "Write [x, y, height]: its floor is the one that is nearest to that height there.",
                    key=True,
                )
            elif wrong:
                values = [list(point) for point in chosen.values[key]]
                problems.add(
                    (*path, key),
                    f"{values} is not a list of at most {MOST_POINTS} points [x, y]",
                    "Heights are for several floors.",
                    key=True,
                )


def _refuse_with_parts(
    navigations: Mapping[KeyPath, Chosen],
    waypaths: Sequence[Waypath],
    groups: Sequence[Group],
    has_jumps: bool,
    problems: Problems,
) -> None:
    """Refuse what is laid out once, before the run, where parts of a soup come and go."""
    found: list[tuple[KeyPath, str]] = []
    for path, chosen in navigations.items():
        if chosen.needs_cells:
            found.append((path, "cells are laid over the ground"))
        elif chosen.values.get("tile_size", 0.0) > 0.0:
            found.append(((*path, "tile_size"), "tiles are cut out of the ground"))
    found += [(("waypaths", each.name), "waypaths are laid over the ground") for each in waypaths]
    if has_jumps:
        found.append((("jumps",), "where agents jump is held against the ground as it is"))
    found += [
        (("groups",), f'the curves of vehicles (group "{group.name}") are found')
        for group in groups
        if group.vehicle is not None
    ]
    for path, why in found:
        problems.add(
            path,
            f"does not go with parts of a soup that come and go: {why} once, before the run",
            "Leave it out, or geometry.soup.parts; areas of geometry.areas may open and close instead.",
        )


def _refuse_unknown_floors(measures: Sequence[MeasuredPlace], problems: Problems) -> None:
    for each in measures:
        if each.layer >= 0:
            problems.add(
                ("measures", each.name),
                "is on one of several floors, and on which floor agents are is not recorded",
                "Add layer to record.columns, or leave record.columns out.",
                key=True,
            )


def _refuse_idle_numbers(
    sections: Mapping[str, Chosen | None],
    navigations: Mapping[KeyPath, Chosen],
    geometry: Geometry | None,
    problems: Problems,
) -> None:
    """Refuse numbers that nothing reads, because of how the groups find their paths, or of the ground;
    what one section tells, `resolve_section` refuses.
    """
    kinds = [chosen.name for chosen in navigations.values()]
    scenario, bodies = sections.get("navigation"), sections.get("bodies")
    if scenario is not None and _is_changed(scenario, "navigation", "terrain_cell"):
        why, way_out = "", "Leave terrain_cell out."
        if "mesh" not in kinds:
            why = (
                f"does nothing under {listed(dict.fromkeys(kinds))}: only navigation mesh looks for paths "
                "over terrain with speeds of its own"
            )
            way_out = "Take navigation mesh, or leave terrain_cell out."
        elif geometry is not None and not geometry.is_weighed:
            why = "does nothing on this ground: no terrain has a speed or a price of its own"
        if why:
            problems.add(("navigation", "terrain_cell"), f"terrain_cell {why}", way_out, key=True)
    if (
        scenario is not None
        and _is_changed(scenario, "navigation", "tiles_in_memory")
        and not scenario.values["tile_size"] > 0.0
    ):
        problems.add(
            ("navigation", "tiles_in_memory"),
            "tiles_in_memory is a share of tiles, and the ground is in one piece",
            "Write navigation: {tile_size: 250}, for example, to have tiles of 250 m, or leave it out.",
            key=True,
        )
    share = 1.0 if scenario is None else scenario.values.get("tiles_in_memory", 1.0)
    for path, chosen in navigations.items():
        if chosen.values.get("tiles_in_memory", share) != share:
            problems.add(
                (*path, "tiles_in_memory"),
                "tiles_in_memory is of the ground, on which all groups stand",
                "Write it in the scenario's own navigation, with kind: hierarchical, or leave it out.",
                key=True,
            )
    # Over cells, an agent with a wall in the line to its next waypoint asks again with replanning off too.
    on_cells = any(chosen.needs_cells for chosen in navigations.values())
    if (
        bodies is not None
        and _is_changed(bodies, "bodies", "replan_cooldown")
        and not bodies.values["replanning"]
        and not on_cells
    ):
        problems.add(
            ("bodies", "replan_cooldown"),
            f"replan_cooldown does nothing while replanning is false, under {listed(dict.fromkeys(kinds))}",
            "Give replanning, or leave replan_cooldown out.",
            key=True,
        )


def _is_changed(chosen: Chosen, section: str, key: str) -> bool:
    """Return whether a parameter has another value than its default."""
    owner = next(each for each in SECTIONS if each.name == section).owners()[chosen.name]
    return any(
        tunable.name == key and chosen.values[key] != tunable.default for tunable in tunables_of(owner)
    )


def _check_ground(
    geometry: Geometry,
    goals: Sequence[Goal],
    groups: Sequence[Group],
    queues: Sequence[Queue],
    connections: Sequence[Connection],
    table: GoalTable,
    draft: Draft,
    problems: Problems,
    notes: Problems,
) -> None:
    for layer in range(len(geometry.grounds)):
        check = GroundCheck(geometry, layer, problems, notes, has_connections=bool(connections))
        check.goals(goals)
        check.groups({group.name: group for group in groups}.values(), _indices(draft), goals)
        check.places(goals, table.in_machines)
        check.queues(queues)
        check.connections(connections)


def scenario_of_run(header: Header, file: str) -> Scenario:
    """Return the scenario of a recorded run, to look at or to measure.
    What came from plug-ins has a stand-in: model `none`, no system, the default planner.

    How agents avoided each other and found their paths changes nothing that is drawn or measured afterwards,
    and a user's file need not be at hand for it.

    Parameters
    ----------
    header : Header
        Of the recording.
    file : str
        What messages call it.
    """
    sets = (
        [
            "systems=[]",
            "avoidance=none",
            *(f"groups.{number}.avoidance=none" for number in range(len(header.groups))),
        ]
        if header.plugins
        else []
    )
    if any(each.get("kind") == "planner" for each in header.plugins.values()):
        sets += [
            "navigation=optimal",
            *(f"groups.{number}.navigation=optimal" for number in range(len(header.groups))),
        ]
    return parse_scenario(header.scenario, file=file, sets=sets)


def as_scenario(given: Scenario | Mapping[str, Any] | str | Path) -> Scenario:
    """Return a scenario from any of its forms.

    Parameters
    ----------
    given : Scenario, mapping, str or Path
        A mapping and a path are those of `load_scenario`. A str with a line break is YAML text, another one a
        path.

    Raises
    ------
    ScenarioError
        With everything that is wrong.
    """
    if isinstance(given, Scenario):
        return given
    if isinstance(given, str) and "\n" in given:
        return parse_scenario(given)
    if isinstance(given, (str, Path, Mapping)):
        return load_scenario(given)
    raise CrowdsimError(
        f"a scenario is a file, YAML text, a dict or what load_scenario returns, not {given!r:.80}."
    )


def goal_described(said: Mapping[str, Any], bounds: tuple[float, float, float, float]) -> Goal:
    """Return a goal without a name that is described with the keys of a scenario file.

    Parameters
    ----------
    said : mapping
        As under `goals`: a point or a region, without a storey.
    bounds : (left, bottom, right, top), m
        Of the ground.

    Raises
    ------
    ScenarioError
        If it is no such goal; its items begin with "the goal".
    """
    place = {"place": dict(said)}
    ground = {"walkable": {"box": list(bounds)}}
    try:
        if not {"point", "region"}.intersection(said):
            what = f"{' '.join(repr(place['place']).split()):.60} is neither a point nor a region"
            raise ScenarioError(Problem("goals.place", what))
        return as_scenario({"version": 1, "geometry": ground, "goals": place, "groups": []}).goals[0]
    except ScenarioError as error:
        raise ScenarioError(
            [replace(each, item=each.item.replace("goals.place", "the goal", 1)) for each in error.problems]
        ) from None
