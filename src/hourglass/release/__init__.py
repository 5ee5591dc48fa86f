"""The frozen answers, with their tables, charts, statements and stored forms."""
