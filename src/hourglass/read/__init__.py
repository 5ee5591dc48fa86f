"""From data to exact, secret totals."""
