"""A resolved scenario as YAML text that needs no other file: what a recording keeps of its scenario."""

from __future__ import annotations

import re
from typing import Any

import shapely

from crowdsim.geometry.surface import STEP_M
from crowdsim.scenario import schema
from crowdsim.scenario.connections import connection_data
from crowdsim.scenario.distributions import Distribution
from crowdsim.scenario.geometry import Flight, Floor, Geometry, NamedPolygon
from crowdsim.scenario.model import (
    SAID_BY_VEHICLES,
    AreaChange,
    Event,
    Goal,
    Group,
    ListedAgent,
    Scenario,
    SignalChange,
    TileChange,
    Visit,
)  # fmt: skip
from crowdsim.scenario.obstacles import obstacle_data
from crowdsim.scenario.parameters import SECTIONS
from crowdsim.scenario.shapes import wkt_of
from crowdsim.scenario.tree import number_text

_PLAIN_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[ -][A-Za-z0-9_]+)*\Z")
# some of them mean more to other YAML readers than to ours
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def canonical_text(scenario: Scenario) -> str:
    """Return a scenario as YAML: all defaults filled in, geometry written out, everything in one fixed order.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    str
        `parse_scenario` of it gives the same scenario, agents and numbers to the last bit, and again this
        text. Scenarios that differ only in the order in which groups, goals, agents with ids or areas are
        listed give one text.
    """
    return "\n".join(_block(canonical_data(scenario), 0)) + "\n"


def canonical_data(scenario: Scenario) -> dict[str, Any]:
    """Return the same as plain dicts, lists and scalars, for JSON."""
    record = scenario.record
    data: dict[str, Any] = {
        "version": 1,
        "name": scenario.name,
        "description": scenario.description,
        "seed": scenario.seed,
        "tick": scenario.tick,
        "stop": _without_none(
            {
                "after": scenario.stop.after,
                "when": "all_arrived" if scenario.stop.when_all_arrived else "never",
                "stuck_for": scenario.stop.stuck_for,
            }
        ),
        "geometry": {**_geometry(scenario.geometry), **_layout(scenario)},
        "goals": {goal.name: _goal(goal, scenario) for goal in scenario.goals if not goal.is_inline},
        "groups": [_group(group, scenario) for group in scenario.groups],
    }
    if scenario.behaviours.written:
        data["behaviours"] = scenario.behaviours.written
    if scenario.queues:
        data["queues"] = {
            queue.name: {**queue.data(), **_storey(queue.layer, scenario)} for queue in scenario.queues
        }
    if scenario.connections:
        names = scenario.geometry.floor_names
        data["connections"] = {each.name: connection_data(each, names) for each in scenario.connections}
    if scenario.waypaths:
        data["waypaths"] = {
            each.name: {**each.written, **_storey(each.layer, scenario)} for each in scenario.waypaths
        }
    if scenario.jumps is not None:
        data["jumps"] = scenario.jumps.data()
    if scenario.events:
        data["events"] = [_event(event, scenario) for event in scenario.events]
    if scenario.obstacles:
        data["obstacles"] = [
            obstacle_data(obstacle, scenario.geometry.floor_names) for obstacle in scenario.obstacles
        ]
    if scenario.measures:
        data["measures"] = {
            each.name: {
                **(
                    {"area": _areas(each.area)}
                    if each.line is None
                    else {"line": [list(p) for p in each.line]}
                ),
                **_storey(each.layer, scenario),
            }
            for each in scenario.measures
        }
    if scenario.systems:
        data["systems"] = [{"system": chosen.name, **chosen.values} for chosen in scenario.systems]
    for section in SECTIONS:
        chosen = scenario.sections[section.name]
        data[section.name] = {
            **({section.selector: chosen.name} if section.selector else {}),
            **chosen.written(section),
        }
    data["record"] = _without_none(
        {
            "rate": record.rate,
            "columns": list(record.columns),
            "agents": {"every": record.every}
            if record.every > 1
            else record.agents
            if isinstance(record.agents, str)
            else list(record.agents),
            "region": _areas(record.region) if record.region is not None else None,
            "explain": list(record.explain),
            "trace": record.trace,
        }
    )
    return data


def _event(event: Event, scenario: Scenario) -> dict[str, Any]:
    when: dict[str, Any] | None = None
    if event.line is not None:
        floor = {"storey": scenario.geometry.floor_names[event.layer]} if event.layer >= 0 else {}
        when = {"crossed": [list(point) for point in event.line], "count": event.count, **floor}
    elif event.met is not None:
        when = {"met": list(event.met), "within": event.within, "count": event.count}
    elif event.inside is not None:
        when = {"inside": event.inside.name, "count": event.count, "waiting": event.inside.waiting}
    change, what = event.change, dict[str, Any]()
    if isinstance(change, AreaChange):
        area = scenario.geometry.areas[change.area]
        verbs = ("remove_part", "add_part") if area.is_part else ("close", "open")
        what = {verbs[change.opens]: area.name}
    elif isinstance(change, TileChange):
        what = {"remove_tile" if change.goes else "add_tile": _tile(change, scenario)}
    elif isinstance(change, SignalChange):
        what = {"signal" if change.is_on else "end_signal": change.name}
    else:
        what = {"set_radius": change.radius, "agents": list(change.agents)}
    return _without_none({"at": event.at, "when": when, **what})


def _tile(change: TileChange, scenario: Scenario) -> Any:
    tile = [change.column, change.row]
    names = scenario.geometry.floor_names
    return tile if change.layer < 0 else {"storey": names[change.layer], "tile": tile}


def _geometry(geometry: Geometry) -> dict[str, Any]:
    areas = [
        {
            "name": each.name,
            "area": _areas(each.area),
            "available": each.available,
            **({"shared": True} if each.shared else {}),
            **({"storey": geometry.floor_names[each.layer]} if each.layer >= 0 else {}),
        }
        for each in geometry.areas
        if not each.is_part
    ]
    if geometry.refill is not None:
        there = frozenset(each.name for each in geometry.areas if each.is_part and each.available)
        return {
            "soup": geometry.refill.data(there),
            **({"areas": areas} if areas else {}),
            "clearance": geometry.clearance,
            "resolved": True,
        }
    if not geometry.floors:
        return {
            **_ground(geometry.walkable, geometry.obstacles),
            **_terrain(geometry),
            **({"areas": areas} if areas else {}),
            "resolved": True,
        }
    if geometry.patches:
        patches = [
            {
                "sheet": patch.sheet,
                "plane": [*patch.plane.place, *patch.plane.slope],
                "wkt": wkt_of(patch.ground),
            }
            for patch in geometry.patches
        ]
        return {
            "surface": {
                "patches": patches,
                "floors": list(geometry.sheet_floors),
                **({} if geometry.step == STEP_M else {"step": geometry.step}),
            },
            **_terrain(geometry),
            **({"areas": areas} if areas else {}),
            "clearance": geometry.clearance,
            "resolved": True,
        }
    return {
        "storeys": [
            {"name": floor.name, "elevation": floor.elevation, **_ground(floor.ground, floor.obstacles)}
            for floor in geometry.floors
            if floor.flight is None
        ],
        "connections": [
            _connection(floor, floor.flight, geometry)
            for floor in geometry.floors
            if floor.flight is not None
        ],
        **_terrain(geometry),
        **({"areas": areas} if areas else {}),
        "clearance": geometry.clearance,
        "resolved": True,
    }


def _layout(scenario: Scenario) -> dict[str, Any]:
    """Return the key with how a grid is laid over the ground, where a group finds paths on one."""
    layout = scenario.geometry.layout
    if layout is None or not any(chosen.needs_cells for chosen in scenario.navigations):
        return {}
    raster: dict[str, Any] | None = None
    if layout.raster is not None:
        laid = layout.raster
        raster = {
            "corner": [laid.x, laid.y],
            "cell_size": laid.cell,
            "width": laid.width,
            "depth": laid.depth,
            "kept": laid.kept,
        }
    areas = [_without_none({"wkt": wkt_of(each.polygon), "name": each.name or None}) for each in layout.areas]
    return {
        "grid": _without_none(
            {"areas": areas, "raster": _without_none(raster) if raster is not None else None}
        )
    }


def _terrain(geometry: Geometry) -> dict[str, Any]:
    """Return the key with the terrain; nothing where there is none."""
    found = [
        {
            "name": each.name,
            "speed": each.speed,
            "area": _areas(each.area),
            **({"storey": geometry.floor_names[layer]} if geometry.floors else {}),
        }
        for layer, floor in enumerate(geometry.terrain)
        for each in floor
    ]
    return {"terrain": found} if found else {}


def _ground(ground: Any, obstacles: tuple[NamedPolygon, ...]) -> dict[str, Any]:
    return {
        "walkable": _areas(ground),
        "obstacles": [
            _without_none({"name": each.name or None, "wkt": wkt_of(each.polygon)}) for each in obstacles
        ],
    }


def _connection(floor: Floor, flight: Flight, geometry: Geometry) -> dict[str, Any]:
    return {
        "name": floor.name,
        "kind": flight.kind,
        "lower": geometry.floor_names[flight.lower],
        "upper": geometry.floor_names[flight.upper],
        "foot": [list(point) for point in flight.foot],
        "head": [list(point) for point in flight.head],
        "speed_up": flight.speed_up,
        "speed_down": flight.speed_down,
    }


def _without_none(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}


def _areas(area: Any) -> list[dict[str, str]]:
    return [{"wkt": wkt_of(part)} for part in shapely.get_parts(area)]


def _storey(layer: int, scenario: Scenario) -> dict[str, Any]:
    """Return the key that names a floor; nothing where there are none."""
    return {"storey": scenario.geometry.floor_names[layer]} if layer >= 0 else {}


def _goal(goal: Goal, scenario: Scenario) -> dict[str, Any]:
    if goal.kind == "point" and goal.point is not None:
        return {
            "point": list(goal.point),
            "arrive_within": goal.arrive_within,
            **_storey(goal.layer, scenario),
        }
    if goal.kind == "nearest_of":
        return {"nearest_of": [scenario.goals[part].name for part in goal.parts]}
    if goal.choice is not None:
        parts = [scenario.goals[part].name for part in goal.parts]
        return {"quickest_of": parts, **goal.choice.data(lambda part: scenario.goals[part].name)}
    flow = {"flow": goal.flow} if goal.flow else {}
    return {goal.kind: _areas(goal.area), **flow, **_storey(goal.layer, scenario)}


def _visits(visits: tuple[Visit, ...], scenario: Scenario) -> list[Any]:
    found: list[Any] = []
    for visit in visits:
        goal = scenario.goals[visit.goal]
        if visit.shares:
            shares = {scenario.goals[each].name: share for each, share in visit.shares}
            found.append(_without_none({"shares": shares, "speed": visit.speed}))
            continue
        if goal.is_inline:
            found.append(_without_none({**_goal(goal, scenario), "speed": visit.speed}))
        else:
            found.append(goal.name if visit.speed is None else {"goal": goal.name, "speed": visit.speed})
    return found


def _keys_of_agents(item: Group | ListedAgent, scenario: Scenario) -> dict[str, Any]:
    """Return the keys that groups and single agents have in common;
    None where an agent has none of its own.
    """
    data: dict[str, Any] = {}
    for key in schema.Bodies.model_fields:
        value = item.visits if key == "goals" else getattr(item, key)
        data[key] = (
            value.data()
            if isinstance(value, Distribution)
            else _visits(value, scenario)
            if isinstance(value, tuple)
            else value
        )
    return data


def _group(group: Group, scenario: Scenario) -> dict[str, Any]:
    data: dict[str, Any] = {"name": group.name}
    if group.positions is not None:
        data["positions"] = group.positions.tolist()
    elif group.listed:
        order = sorted(
            range(group.count),
            key=lambda index: (group.listed[index].id is None, group.listed[index].id or 0, index),
        )
        # An agent without an id is known by its index, so it has to stay where it is; those with ids may take
        # each other's places.
        if any(agent.id is None for agent in group.listed):
            order = list(range(group.count))
        data["agents"] = [_agent(group.listed[index], scenario) for index in order]
    elif group.count or group.arrive is None:
        data["count"] = group.count
    keys = _keys_of_agents(group, scenario)
    said = SAID_BY_VEHICLES if group.vehicle is not None else ()
    own = {key: value for key, value in keys.items() if key != "goals" and key not in said}
    data |= {
        "reserve": group.reserve or None,
        "arrive": group.arrive.data(_areas) if group.arrive is not None else None,
        "behaviour": group.behaviour or None,
        "together": group.together.data() if group.together is not None else None,
        "keys": list(group.keys) or None,
        "excludes": list(group.excludes) or None,
        "vehicle": group.vehicle.data() if group.vehicle is not None else None,
        "region": _areas(group.region) if group.region is not None else None,
        **_storey(group.layer, scenario),
        **({} if group.behaviour else {"goals": keys["goals"], "leave_on_arrival": group.leave_on_arrival}),
        **own,
        "avoidance": {"model": group.avoidance.name, **group.avoidance.values}
        if group.avoidance is not None
        else None,
        "navigation": _own_navigation(group),
    }
    return _without_none(data)


def _own_navigation(group: Group) -> dict[str, Any] | None:
    """Return how a group finds its path, without the numbers of the mesh, which are the scenario's."""
    if group.navigation is None:
        return None
    section = next(section for section in SECTIONS if section.name == "navigation")
    shared = section.shared_names()
    return {
        "kind": group.navigation.name,
        **{key: value for key, value in group.navigation.written(section).items() if key not in shared},
    }


def _agent(agent: ListedAgent, scenario: Scenario) -> dict[str, Any]:
    position = list(agent.position) if agent.position is not None else None
    return _without_none({"id": agent.id, "position": position, **_keys_of_agents(agent, scenario)})


def _block(data: dict[str, Any], depth: int) -> list[str]:
    """Return a mapping as lines: mappings and lists of mappings in lines of their own,
    everything else on one.
    """
    indent = "  " * depth
    lines = []
    for key, value in data.items():
        name = f"{indent}{_text(key)}:"
        if isinstance(value, dict) and value and depth < 1:
            lines += [name, *_block(value, depth + 1)]
        elif isinstance(value, list) and value and (isinstance(value[0], dict) or depth == 0):
            lines.append(name)
            lines += [f"{indent}  - {flow_text(item)}" for item in value]
        else:
            lines.append(f"{name} {flow_text(value)}")
    return lines


def flow_text(value: Any) -> str:
    """Return a plain value as YAML on one line, as ``--set`` takes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {flow_text(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(flow_text(item) for item in value) + "]"


def _text(text: str) -> str:
    """Return a text as a YAML scalar: bare where nobody can misread it,
    else in double quotes with escapes.
    """
    if _PLAIN_WORD.match(text) and text.lower() not in _RESERVED:
        return text
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
