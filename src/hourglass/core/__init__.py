"""Plain values without I/O: exact numbers, bounds, grids, units, keys, totals."""
