"""URLs of databases, shown without passwords."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["scheme_of", "shown_url", "url_identity"]

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
#: A password in the keyword form of PostgreSQL's driver: host=... password=...
_KEYWORD: Final = re.compile(r"password\s*=", re.IGNORECASE)
_HOST: Final = r"(?:[\w.~%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?"
#: The only form in which it is certain where a password starts and ends: what is shown contains no
#: "@", "/", "?" or "#" that could belong to a password.
_CERTAIN: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    r"(?:(?P<user>[\w.~%!$&'*+,;=-]*)(?::[^@/?#]*)?@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)"
    r"(?P<path>/[^@?#]*)?"
    r"(?P<options>[?#][^@]*)?",
    re.ASCII,
)


def scheme_of(url: str) -> str:
    """The scheme before ``://``, in lower case and without a driver's name; "" if there is none."""
    found = _SCHEME.match(url)
    return found[1].lower().partition("+")[0] if found else ""


def shown_url(url: str) -> str:
    """The URL without its password and its options, which may hold one.

    Of an ambiguous URL, for instance because its password contains an "@" or a "/" that is not
    percent-encoded, only the scheme is shown. Text that is not a URL is a file name, and is shown
    unless it contains a password.
    """
    if "://" not in url:
        return "..." if _KEYWORD.search(url) else url
    found = _CERTAIN.fullmatch(url)
    if found is None:
        scheme = _SCHEME.match(url)
        return f"{scheme[1]}://..." if scheme else "..."
    user = f"{found['user']}@" if found["user"] and found["hosts"] else ""
    return f"{found['scheme']}://{user}{found['hosts']}{found['path'] or ''}"


def url_identity(url: str) -> str:
    """The URL without its password, equal for equal databases even if the password changes."""
    found = _CERTAIN.fullmatch(url)
    if found is None:
        return url
    options = re.split("[?&#]", found["options"] or "")[1:]
    kept = "&".join(option for option in options if "password" not in option.lower())
    user = f"{found['user']}@" if found["user"] else ""
    place = f"{found['scheme']}://{user}{found['hosts']}{found['path'] or ''}"
    return f"{place}?{kept}" if kept else place
