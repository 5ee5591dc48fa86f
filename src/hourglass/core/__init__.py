"""Plain values, no input or output: exact numbers, bounds, grids, units, keys, totals."""
