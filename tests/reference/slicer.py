"""Naive twin of `crowdsim.systems.base.slices.Slicer`:
a list that is looked through from the beginning for every slice.

Written from [Norberg 2004], section 3.3 (steps 1 to 8), with what the slicer adds: a task is due from a tick
on, its head start, and turns among equals.
"""

from __future__ import annotations

from crowdsim.systems.base.slices import Wish


class NaiveSlicer:
    def __init__(self, slice_size):
        self.slice_size, self.tasks, self.turns = slice_size, [], 0

    def add(self, name, work, *, due, period=0, head_start=0):
        assert all(task["name"] != name for task in self.tasks)
        self.turns += 1
        self.tasks.append(
            {
                "name": name,
                "work": work,
                "due": due,
                "period": period,
                "head_start": head_start,
                "since": due,
                "turn": self.turns,
            }
        )

    def remove(self, name):
        before = len(self.tasks)
        self.tasks = [task for task in self.tasks if task["name"] != name]
        return len(self.tasks) < before

    def due(self, now):
        return [task for task in self.tasks if task["due"] <= now]

    def run(self, now, meter):
        """Return the names of those that had a slice, in order, and how long the one that waits longest has
        waited.
        """
        served = []
        while not meter.is_spent():
            due = self.due(now)
            if not due:
                break
            best = due[0]
            for task in due[1:]:
                rank, best_rank = task["since"] - task["head_start"], best["since"] - best["head_start"]
                if rank < best_rank or (rank == best_rank and task["turn"] < best["turn"]):
                    best = task
            progress = best["work"](meter.grant(self.slice_size, len(due) == 1))
            served.append(best["name"])
            meter.note(progress.used)
            best["since"] = now
            if progress.wish is Wish.NEXT_TICK:
                best["due"] = now + 1
            if progress.wish is Wish.DONE and not best["period"]:
                self.tasks = [task for task in self.tasks if task is not best]
            if progress.wish is Wish.DONE and best["period"]:
                best["due"] = best["since"] = max(best["due"] + best["period"], now + 1)
            self.turns += 1
            best["turn"] = self.turns
        return served, max((now - task["since"] for task in self.due(now)), default=0)
