"""The SQL that quantises and adds up, in DuckDB's dialect, and its translation."""
