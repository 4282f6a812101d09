"""What the cell index must hold; twins of `window` and `plane_numbers`.

Everybody within reach of a point must lie in one of the cells that the window names, and no cell may be named
twice.
"""


def rows_of_window(cells, place, found):
    """Rows in the cells that `window` named for plane number `place`,
    as a list (so that a cell named twice shows).
    """
    first_line, lines, first_column, columns, wrapped, row_mask, table_columns, first_cell = (
        int(number) for number in found
    )
    rows = []
    for line in range(first_line, first_line + lines):
        for first, width in ((first_column, columns), (0, wrapped)):
            begin = first_cell + (line & row_mask) * table_columns + first
            for cell in range(begin, begin + width):
                rows += cells.row[cells.start[cell] : cells.start[cell + 1]].tolist()
    return rows


def plane_numbers(cells, place):
    """The row of `origin` and of `shape` of one plane."""
    return (*cells.origin[place].tolist(), *cells.shape[place].tolist())


def lay_out(boxes, counts, per_metre, least_cells, cells_per_agent):
    """Origin and shape of each plane, and how many cells all tables have."""
    rows, first = [], 0
    for (low_x, low_y, high_x, high_y), agents in zip(boxes, counts, strict=True):
        if not agents:
            low_x = low_y = high_x = high_y = 0.0
        last_column, last_row = int((high_x - low_x) * per_metre), int((high_y - low_y) * per_metre)
        columns, lines, column_mask, row_mask = last_column + 1, last_row + 1, -1, -1
        limit = max(least_cells, cells_per_agent * agents)
        if columns * lines > limit:
            columns, lines = 1 << last_column.bit_length(), 1 << last_row.bit_length()
            while columns * lines > limit:
                columns, lines = (columns // 2, lines) if columns >= lines else (columns, lines // 2)
            column_mask, row_mask = columns - 1, lines - 1
        rows.append((low_x, low_y, columns, column_mask, last_column, lines, row_mask, last_row, first))
        first += columns * lines
    return rows, first
