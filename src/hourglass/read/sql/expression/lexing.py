"""The lexer of expressions: tokens with their positions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ....errors import OptionError

__all__ = ["Word", "refused", "words_of"]

#: Limits on the length of a text and on its number of tokens.
_LONGEST: Final = 10_000
_MOST_WORDS: Final = 2_000
#: Operators of other languages, which SQL writes as words.
_WRITTEN_OUT: Final = {"&": "AND", "|": "OR", "!": "NOT"}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SPACE: Final = re.compile(r"[ \t\r\n]+")
_TOKEN: Final = re.compile(
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w.])"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<text>'(?:[^']|'')*')"
    r'|(?P<name>"(?:[^"]|"")+")'
    r"|(?P<sign><>|!=|<=|>=|[=<>+\-*/(),])"
)


def refused(option: str, place: int, what: str) -> OptionError:
    """The error for a text that is refused, with the position of the problem."""
    return OptionError(f"{option}, character {place}: {what}")


@dataclass(frozen=True)
class Word:
    """A token (word, name, string, number or sign) and the position at which it starts."""

    kind: str
    text: str
    place: int

    @property
    def upper(self) -> str:
        """An ASCII word in capitals; anything else unchanged."""
        return self.text.upper() if self.kind == "word" and self.text.isascii() else self.text


def words_of(option: str, text: str) -> list[Word]:
    """The tokens of a text, followed by one for its end; an error gives the position."""
    if len(text) > _LONGEST:
        raise OptionError(
            f"{option} has {len(text)} characters, and at most {_LONGEST} are allowed; store its "
            "result as a column"
        )
    if half := _SURROGATE.search(text):
        raise refused(
            option, half.start() + 1, "half of a surrogate pair is not a character; leave it out"
        )
    found, at = [], 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
            continue
        if text.startswith(("--", "/*"), at):
            raise refused(option, at + 1, "comments are not supported; leave it out")
        if text.startswith("==", at):
            raise refused(option, at + 1, "write a single = for equality")
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise refused(option, at + 1, _unknown(text, at))
        word = Word(match.lastgroup, match.group(), at + 1)
        if "\0" in word.text:
            raise refused(option, at + 1, "a string or a name cannot contain the character NUL")
        found.append(word)
        if len(found) > _MOST_WORDS:
            raise refused(option, at + 1, f"there are more than {_MOST_WORDS} tokens")
        at = match.end()
    end = Word("end", "", len(text) + 1)
    if not found:
        raise refused(option, 1, "the text is empty; leave it out, or write a condition")
    return [*found, end]


def _unknown(text: str, at: int) -> str:
    character = text[at]
    if character == "'":
        return "a string has no closing quote; a quote inside a string is written twice"
    if character == '"':
        return "a name has no closing quote, or is empty"
    if (character.isascii() and character.isdigit()) or character == ".":
        return "this is not a number; write it like 12, 0.5 or 1e6"
    if character in "[]":
        return (
            "square brackets are not supported; lists are written in parentheses, as in "
            'x IN (1, 2), and names with other characters in double quotes, as in "dep delay"'
        )
    if character == "`":
        return 'a name with other characters is written in double quotes, as in "dep delay"'
    if character in _WRITTEN_OUT:
        return f"write {_WRITTEN_OUT[character]} in place of {character}"
    if character == ";":
        return "a semicolon is not supported; give one condition"
    if character in "‘’“”„´«»":
        return "this is not an SQL quote; put strings in ' and names in \""
    return f"the character {character!r} is not supported outside quotes"
