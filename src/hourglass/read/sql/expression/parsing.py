"""A recursive-descent parser: from text to a tree.

What is not in the grammar is refused with its position. Messages name keywords of SQL and columns;
other parts of the text are not repeated.
"""

from __future__ import annotations

import math
from typing import Final, NoReturn

from ....errors import OptionError, shown
from ...source import INT64
from . import nodes
from .lexing import Word, refused, words_of
from .nodes import FUNCTIONS, RESERVED, Node

__all__ = ["OFFERED", "parsed"]

#: The greatest nesting depth of brackets, NOT, CASE and the like: each takes several calls.
_DEEPEST: Final = 30
#: The most steps of one computation, each of which uses the result of the one before.
_TALLEST: Final = 40
#: The most % in a pattern: with more, some engines could take very long for one cell.
_MOST_MANY: Final = 2
OFFERED: Final = (
    "comparisons, AND, OR, NOT, + - * /, IN, BETWEEN, LIKE, IS NULL, CASE and "
    + ", ".join(FUNCTIONS)
)
#: Keywords of SQL that users may expect: a message says that they are not supported.
_WORDS: Final = """
ALL ANY ARRAY AS AT AVG CAST COLLATE CONCAT CONVERT COUNT CREATE CROSS CURRENT_DATE
CURRENT_TIMESTAMP DATE DELETE DISTINCT DROP EXISTS EXP EXTRACT FETCH FILTER FROM GLOB GROUP HAVING
IF IFF IFNULL ILIKE INSERT INTERSECT INTERVAL JOIN LAG LATERAL LEAD LIMIT LN LOG MAX MEDIAN MIN MOD
NATURAL NOW NULLIF OFFSET ORDER OVER PARTITION POW POWER RAND RANDOM RANK REGEXP RLIKE ROUND
ROW_NUMBER SELECT SIMILAR SOME SQRT SUBSTR SUBSTRING SUM TABLE TIMESTAMP TRIM TRY_CAST UNION UPDATE
UPPER USING UUID VALUES WHERE WINDOW WITH XOR
"""
_SQL: Final = frozenset(_WORDS.split())
_LOGIC: Final = frozenset(("AND", "OR", "NOT"))
_COMPARISONS: Final = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def parsed(text: object, option: str) -> Node:
    """The tree of an expression that was given as ``option``."""
    if type(text) is not str:
        raise OptionError(
            f"{option}={shown(text)} is not a string; write it in SQL, as a string such as "
            "\"month = 12 AND origin = 'JFK'\""
        )
    return _Parser(option, words_of(option, text)).whole()


class _Parser:
    """One pass over the tokens; each method parses one rule of the grammar."""

    def __init__(self, option: str, words: list[Word]) -> None:
        self.option, self.words = option, words
        self.at = self.depth = 0

    # --- tokens ------------------------------------------------------------------------------

    @property
    def here(self) -> Word:
        return self.words[self.at]

    def next_is(self, *words: str) -> bool:
        """Whether these tokens follow."""
        ahead = self.words[self.at : self.at + len(words)]
        return len(ahead) == len(words) and all(
            found.kind in ("word", "sign") and found.upper == word
            for found, word in zip(ahead, words, strict=True)
        )

    def take(self, *words: str) -> bool:
        """Skip these tokens if they follow."""
        if not self.next_is(*words):
            return False
        self.at += len(words)
        return True

    def expect(self, word: str) -> None:
        if not self.take(word):
            self.fail(f"{word!r} is expected here")

    def fail(self, what: str, place: int | None = None) -> NoReturn:
        raise refused(self.option, self.here.place if place is None else place, what)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(f"parts are nested more than {_DEEPEST} deep")

    # --- grammar ----------------------------------------------------------------------------

    def whole(self) -> Node:
        node = self.any()
        if self.here.kind != "end":
            self.unexpected()
        level, height = [node], 0
        while level:
            height += 1
            if height > _TALLEST:
                self.fail(f"more than {_TALLEST} operations depend on one another", level[0].place)
            level = [part for each in level for part in each.parts]
        return node

    def unexpected(self) -> NoReturn:
        word = self.here
        if word.kind == "end":
            self.fail("the text ends where a value is expected")
        if word.kind == "sign" or (word.kind == "word" and word.upper in _LOGIC):
            self.fail(f"{word.upper} is not expected here. The language has {OFFERED}")
        if word.kind == "word" and word.upper in _SQL | RESERVED:
            what = "supported" if word.upper in _SQL else "expected here"
            self.fail(
                f"{word.upper} is not {what}; if it is part of a column's name, put that name in "
                f"double quotes. The language has {OFFERED}"
            )
        self.fail(
            "this word is not expected here; a name with spaces goes into double quotes. The "
            f"language has {OFFERED}"
        )

    def unclosed(self) -> NoReturn:
        if self.here.kind == "end":
            self.fail("a bracket is not closed")
        self.unexpected()

    def any(self) -> Node:
        self.deeper()
        place, found = self.here.place, [self.all()]
        while self.take("OR"):
            found.append(self.all())
        self.depth -= 1
        return found[0] if len(found) == 1 else nodes.Any(tuple(found), place=place)

    def all(self) -> Node:
        place, found = self.here.place, [self.negation()]
        while self.take("AND"):
            found.append(self.negation())
        return found[0] if len(found) == 1 else nodes.All(tuple(found), place=place)

    def negation(self) -> Node:
        place = self.here.place
        if not self.take("NOT"):
            return self.test()
        self.deeper()
        found = nodes.Not(self.negation(), place=place)
        self.depth -= 1
        return found

    def test(self) -> Node:
        place, left = self.here.place, self.sum()
        sign = _COMPARISONS.get(self.here.text) if self.here.kind == "sign" else None
        if sign:
            self.at += 1
            found: Node = nodes.Compare(sign, left, self.sum(), place=place)
        elif self.take("IS"):
            negated = self.take("NOT")
            if not self.take("NULL"):
                self.fail("NULL is expected here, as in IS NULL or IS NOT NULL")
            found = nodes.IsNull(left, place=place)
            found = nodes.Not(found, place=place) if negated else found
        else:
            negated = self.take("NOT")
            tested = self.rest_of_test(left, place)
            if tested is None:
                if negated:
                    self.fail("IN, BETWEEN or LIKE is expected after NOT")
                return left
            found = nodes.Not(tested, place=place) if negated else tested
        if self.here.kind == "sign" and self.here.text in _COMPARISONS:
            self.fail("comparisons cannot be chained; join them with AND")
        return found

    def rest_of_test(self, left: Node, place: int) -> Node | None:
        if self.take("IN"):
            return nodes.In(left, self.items(), place=place)
        if self.take("BETWEEN"):
            low = self.sum()
            self.expect("AND")
            return nodes.Between(left, low, self.sum(), place=place)
        if self.take("LIKE"):
            return nodes.Like(left, self.pattern(), place=place)
        return None

    def items(self) -> tuple[Node, ...]:
        self.expect("(")
        found = [self.constant()]
        while self.take(","):
            found.append(self.constant())
        self.expect(")")
        return tuple(found)

    def constant(self) -> Node:
        place = self.here.place
        minus = self.take("-")
        if self.here.kind == "number":
            return self.number(place, minus)
        if self.here.kind == "text" and not minus:
            return self.string()
        self.fail("a number or a string in quotes is expected: IN takes a list of constants")

    def pattern(self) -> str:
        if self.here.kind != "text":
            self.fail("a pattern in quotes is expected: LIKE takes a constant pattern")
        place = self.here.place
        pattern, escape = self.string().value, ""
        if self.take("ESCAPE"):
            escape = self.string().value if self.here.kind == "text" else ""
            if len(escape) != 1:
                self.fail("ESCAPE takes one character in quotes", place)
        found, many, characters = "", 0, iter(pattern)
        for character in characters:
            many += character == "%" and character != escape
            if character == escape:
                character = next(characters, "")
                if character not in ("%", "_", escape):
                    self.fail(
                        "the escape character of a pattern must precede %, _ or itself", place
                    )
                found += "\\" + character if character in "%_\\" else character
            else:
                found += "\\\\" if character == "\\" else character
        if many > _MOST_MANY:
            self.fail(
                f"a pattern may have at most {_MOST_MANY} %, since engines can be very slow with "
                "more; join two patterns with AND",
                place,
            )
        return found

    def sum(self) -> Node:
        place, found = self.here.place, self.product()
        while self.next_is("+") or self.next_is("-"):
            sign = self.here.text
            self.at += 1
            found = nodes.Arithmetic(sign, found, self.product(), place=place)
        return found

    def product(self) -> Node:
        place, found = self.here.place, self.unary()
        while self.next_is("*") or self.next_is("/"):
            sign = self.here.text
            self.at += 1
            found = nodes.Arithmetic(sign, found, self.unary(), place=place)
        return found

    def unary(self) -> Node:
        place = self.here.place
        if not self.take("-"):
            return self.primary()
        if self.here.kind == "number":
            return self.number(place, True)
        self.deeper()
        found = nodes.Negate(self.unary(), place=place)
        self.depth -= 1
        return found

    def primary(self) -> Node:
        word = self.here
        if word.kind == "number":
            return self.number(word.place, False)
        if word.kind == "text":
            return self.string()
        if word.kind == "name":
            self.at += 1
            return nodes.Column(word.text[1:-1].replace('""', '"'), place=word.place)
        if self.take("("):
            found = self.any()
            if not self.take(")"):
                self.unclosed()
            return found
        if word.kind == "word":
            return self.named(word)
        self.unexpected()

    def named(self, word: Word) -> Node:
        if self.take("CASE"):
            return self.case(word.place)
        if word.upper in ("TRUE", "FALSE"):
            self.at += 1
            return nodes.Truth(word.upper == "TRUE", place=word.place)
        if self.take("NULL"):
            self.fail(
                "NULL is allowed only in THEN and ELSE; to compare with it, write IS NULL",
                word.place,
            )
        if word.upper in RESERVED:
            self.unexpected()
        self.at += 1
        if self.next_is("("):
            return self.call(word)
        follows = self.here.kind not in ("sign", "end") and self.here.upper not in RESERVED
        if follows and word.upper in _SQL:  # DATE '2024-01-01', SELECT x
            self.at -= 1
            self.unexpected()
        return nodes.Column(word.text, place=word.place)

    def call(self, word: Word) -> Node:
        if word.upper not in FUNCTIONS:
            name = f"{word.upper}()" if word.upper in _SQL else "this function"
            self.fail(f"{name} is not supported. The language has {OFFERED}", word.place)
        self.expect("(")
        found = [self.any()]
        while self.take(","):
            found.append(self.any())
        if not self.take(")"):
            self.unclosed()
        least, most = FUNCTIONS[word.upper]
        if not least <= len(found) <= most:
            wanted = f"{least} argument" if most == 1 else f"{least} to {most} arguments"
            self.fail(f"{word.upper} takes {wanted}", word.place)
        return nodes.Call(word.upper, tuple(found), place=word.place)

    def case(self, place: int) -> Node:
        self.deeper()
        if not self.next_is("WHEN"):
            self.fail("WHEN is expected here, as in CASE WHEN condition THEN result ... END")
        branches = []
        while self.take("WHEN"):
            condition = self.any()
            self.expect("THEN")
            branches.append((condition, self.result()))
        otherwise = self.result() if self.take("ELSE") else nodes.Null(place=self.here.place)
        self.expect("END")
        self.depth -= 1
        return nodes.Case(tuple(branches), otherwise, place=place)

    def result(self) -> Node:
        place = self.here.place
        return nodes.Null(place=place) if self.take("NULL") else self.any()

    # --- constants --------------------------------------------------------------------------

    def number(self, place: int, minus: bool) -> nodes.Number:
        text = self.here.text
        self.at += 1
        if text.isdigit() and len(text.lstrip("0")) < 20:
            whole = -int(text) if minus else int(text)
            if INT64[0] <= whole <= INT64[1]:
                return nodes.Number(whole, place=place)
        value = float(text)
        if math.isinf(value):
            self.fail("this number is larger than any double (1.8e308)", place)
        return nodes.Number(-value if minus and value else value, place=place)

    def string(self) -> nodes.Text:
        word = self.here
        self.at += 1
        return nodes.Text(word.text[1:-1].replace("''", "'"), place=word.place)
