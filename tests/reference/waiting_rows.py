"""Twin of the rows of a request queue: lists."""

from collections import deque


class Lines:
    """Requests that wait, by row: those that search alone in one line, the others in one for each tree."""

    def __init__(self):
        self.alone, self.of_tree, self.open, self.row_of, self.taken = deque(), {}, set(), {}, set()

    def stand(self, row, entity, key, shares):
        """Put a request at the end of its line; return whether a line begins with it."""
        self.open.add(row)
        self.row_of[entity] = row
        line = self.of_tree.setdefault(key, deque()) if shares else self.alone
        begins = shares and not line
        line.append(row)
        return begins

    def _take(self, line, most, waits):
        found = []
        while line and len(found) < most:
            if line[0] not in self.open:
                line.popleft()
            elif waits(line[0]):
                break
            else:
                found.append(line.popleft())
        self.taken.update(found)
        return found

    def take_alone(self, most, tree, is_grown):
        return self._take(self.alone, most, lambda row: tree[row] >= 0 and not is_grown[tree[row]])

    def take_of_tree(self, key, most):
        return self._take(self.of_tree[key], most, lambda row: False)

    def head_of(self, key):
        """The first row of a line that is open; those before it leave the line."""
        line = self.of_tree.get(key, deque())
        while line and line[0] not in self.open:
            line.popleft()
        return line[0] if line else -1

    def drop(self, entity):
        """Return the row that is closed, None if there is none."""
        row = self.row_of.pop(entity, None)
        if row is None or row not in self.open:
            return None
        self.open.discard(row)
        return row
