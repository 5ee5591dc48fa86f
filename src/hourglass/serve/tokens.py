"""Access tokens: 256 random bits, of which only the SHA-256 is kept.

Slow hashes are for passwords that people choose. 256 random bits cannot be guessed, so one SHA-256
is as safe, and a wrong token costs the server little.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from typing import Final

from ..noise.bits import SECURE

__all__ = ["HASH", "hashed", "matching", "random_text", "token"]

_PREFIX: Final = "hg_"
#: How a hash is written in a catalogue.
HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")


def random_text(words: int = 4) -> str:
    """A number of 64-bit words from the operating system's generator, as URL-safe text."""
    return urlsafe_b64encode(SECURE.words(words).tobytes()).decode().rstrip("=")


def token() -> str:
    """A new access token."""
    return _PREFIX + random_text()


def hashed(secret: str) -> str:
    """The hash of a token, a sign-in code or a session, which is all that is kept of it."""
    return "sha256:" + hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def matching(secret: str, hashes: Iterable[tuple[str, str]]) -> str | None:
    """The owner of a token, from pairs of a name and a hash.

    Every hash is compared, each in constant time, so the time reveals nothing about them.
    """
    offered, found = hashed(secret), None
    for name, known in hashes:
        if hmac.compare_digest(offered, known):
            found = name
    return found
