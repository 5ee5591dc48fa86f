"""Access tokens: 256 random bits, of which only the SHA-256 is kept.

A slow hash is for passwords that people choose. Nobody guesses 256 random bits, so one SHA-256
is as safe, and a wrong token costs the server nothing.
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
    """So many 64-bit words of the operating system's randomness, as text fit for a URL."""
    return urlsafe_b64encode(SECURE.words(words).tobytes()).decode().rstrip("=")


def token() -> str:
    """A new access token."""
    return _PREFIX + random_text()


def hashed(secret: str) -> str:
    """What is kept of a token, a login code or a session."""
    return "sha256:" + hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def matching(secret: str, hashes: Iterable[tuple[str, str]]) -> str | None:
    """Whose token it is, from pairs of a name and a hash.

    Every hash is compared, each in constant time: how long it takes tells nothing of them.
    """
    offered, found = hashed(secret), None
    for name, known in hashes:
        if hmac.compare_digest(offered, known):
            found = name
    return found
