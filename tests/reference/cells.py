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
