"""Filters and expressions in people's words: a closed language over the columns of one row.

    parsing     text -> a tree (nodes), or an error that names the place
    checking    the tree against the schema: every part has a type before anything is charged
    writing     the tree -> SQL, put together from the tree; the text itself is never pasted
    arithmetic  + - * / on doubles: total, and the same bits on every engine

Every operator is total (no row can make it fail) and equal on all engines. Logic is SQL's, with
three values; docs/questions.md has the grammar.
"""
