"""Twins of the kernels that ask in one pass which agents do what: by masks, as one would write them."""

import numpy as np

from crowdsim.avoidance.model import KEEPS_ITS_VELOCITY
from crowdsim.bodies.contacts import DRIVEN
from crowdsim.codes import PathStatus
from crowdsim.navigation.corridor.corner_cache import NOT_CACHED, STRAIGHT_TO_GOAL
from crowdsim.navigation.corridor.portal_vertices import VERTEX
from crowdsim.world.columns import AgentState, Gait, Led, Stepping


def has_path(status):
    return (status == PathStatus.FOUND) | (status == PathStatus.FOUND_THROUGH_AGENTS)


def standing(activity, is_yielding, is_driven):
    stays = (activity == AgentState.STANDING) | (activity == AgentState.WAITING)
    return (stays & (is_yielding == 0) & (is_driven == 0)) | (is_driven == Led.HELD)


def on_their_way(activity, is_yielding, is_driven):
    return ((activity == AgentState.WALKING) | (is_yielding != 0)) & (is_driven != Led.HELD)


def asking(activity, path_status, goal):
    return (activity == AgentState.WALKING) & (path_status == PathStatus.NONE) & (goal >= 0)


def gaits(activity, is_yielding, is_driven, preferred_velocity):
    goes = on_their_way(activity, is_yielding, is_driven) | (is_driven == Led.ON)
    return np.where((preferred_velocity != 0.0).any(axis=1) & goes, Gait.WALK, Gait.STAND)


def active(activity, is_driven, is_yielding, drives):
    goes = (activity == AgentState.WALKING) | (is_driven != 0) | (is_yielding != 0)
    goes &= (is_driven != Led.HELD) & (activity != AgentState.RIDING)
    is_obstacle = activity == AgentState.OBSTACLE
    if len(drives):
        is_obstacle |= drives & (activity == AgentState.RIDING)
    return np.where(is_obstacle, KEEPS_ITS_VELOCITY, goes), np.count_nonzero(is_obstacle)


def movable(activity, is_immovable):
    return np.where(activity == AgentState.OBSTACLE, DRIVEN, 1 - is_immovable)


def straight(corner_vertex, activity, is_driven, path_status, group, goal, itinerary, stage, heeds, ends):
    found = (corner_vertex == STRAIGHT_TO_GOAL) & (activity == AgentState.WALKING) & (is_driven == 0)
    found &= has_path(path_status) & (group >= 0) & heeds[group]
    if ends is not None:  # -1, without a list, is the last entry
        found &= ends.last[itinerary] != goal
        found &= (goal < ends.fixed) | (stage + 1 < ends.length[itinerary])
    return found


def led_round(follows, before, corner_vertex, next_corner, position, radius, is_wall_vertex, clearance):
    is_known = corner_vertex != NOT_CACHED
    vertex = np.where(is_known, np.where(corner_vertex >= 0, corner_vertex, ~corner_vertex) >> VERTEX, 0)
    is_some = is_known & (corner_vertex != STRAIGHT_TO_GOAL)
    vertex[~is_some] = 0
    is_new = (corner_vertex != before) | ~is_known
    is_free = is_known & (is_wall_vertex[vertex] == 0)
    apart = next_corner - position
    is_near = np.hypot(apart[:, 0], apart[:, 1]) < 2.0 * radius
    found = (is_free & (is_new | (clearance[vertex] < radius))) | (is_near & is_new)
    return found & follows & (corner_vertex != STRAIGHT_TO_GOAL)


def movable_standing(activity, is_yielding, is_driven, is_immovable):
    stays = (activity == AgentState.STANDING) | (activity == AgentState.WAITING)
    return stays & (is_yielding == 0) & (is_driven == 0) & (is_immovable == 0)


def steps_that_go_on(target, position, activity, is_driven, yield_tick, reached, patience, tick, yielding):
    is_there = np.hypot(*(target - position).T) <= reached
    last = yield_tick + np.where(yielding == Stepping.ASIDE, patience, 0)
    ends = (activity == AgentState.WALKING) | (is_driven != 0) | is_there | (tick >= last)
    return np.where(ends, Stepping.NOWHERE, yielding)


def led(target, position, desired_speed, tick_length):
    """Preferred velocities, m/s, straight to the targets."""
    rest = target - position
    length = np.hypot(*rest.T)
    return rest * (np.minimum(desired_speed, length / tick_length) / np.maximum(length, 1e-300))[:, None]


def followers(mine, activity, is_driven, status, goal_piece, polygon, barred, keeps_previous, may_guess):
    """Which follow, which guess, and which nobody leads."""
    free = mine & (is_driven == 0)
    walking = free & (activity == AgentState.WALKING)
    follows, guesses = walking & has_path(status), walking & (status == PathStatus.PENDING)
    if keeps_previous:
        keeps = guesses & (goal_piece >= 0)
        follows, guesses = follows | keeps, guesses & ~keeps
    elif not may_guess:
        guesses = np.zeros(len(mine), dtype=bool)
    if len(barred):
        guesses = guesses & ~barred[polygon]
    return follows, guesses, free & ~follows & ~guesses


def steps(
    old, position, touched, chosen, has_ground, tick_length, status, ahead, strays, corridor_length, most
):
    """Walked velocity, velocity, strays, corridor length, and which are lost."""
    walked = (position - old) / tick_length
    velocity = np.where(has_ground[:, None], chosen, 0.0)
    is_slower = (touched == 1) & (np.hypot(*walked.T) < np.hypot(*velocity.T))
    velocity = np.where(is_slower[:, None], walked, velocity)
    follows = has_path(status)
    strays = strays + np.maximum(ahead - corridor_length, 0) * follows
    lost = (follows | (status == PathStatus.PENDING)) & ((ahead < 0) | (strays > most))
    return walked, velocity, strays, np.maximum(ahead, 0), lost
