"""Whatever a URL's password is, it is not shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourglass.core.urls import scheme_of, shown_url, url_identity


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:pw@h:5432/db", "postgresql://u@h:5432/db"),
        ("postgresql://u@h/db", "postgresql://u@h/db"),
        ("postgresql://h/db?password=pw&user=u", "postgresql://h/db"),
        ("postgresql+psycopg://u:p%zz@[::1]:1/db", "postgresql+psycopg://u@[::1]:1/db"),
        ("postgresql://u:p@a:1,b:2/db", "postgresql://u@a:1,b:2/db"),
        ("postgresql://u:p@w@h/db", "postgresql://..."),
        ("postgresql://u:12/w@h/db", "postgresql://..."),
        ("postgresql://u:12?w@h/db", "postgresql://..."),
        ("postgresql://u:12#w@h/db", "postgresql://..."),
        ("postgresql://h/db?password=p@w", "postgresql://..."),
        ("sqlite:////srv/a file.db", "sqlite:////srv/a file.db"),
        ("/srv/ledger.db", "/srv/ledger.db"),
        ("host=h password=pw", "..."),
        ("/srv/passwords.csv", "/srv/passwords.csv"),
        ("1://pw", "..."),
    ],
)
def test_examples(url: str, shown: str) -> None:
    assert shown_url(url) == shown


#: Passwords that begin with a word of their own, which nothing else in the URL has.
WORD = "Zq9"
REST = st.text(st.sampled_from("@:/?#%[]=& ab12zü℀\n"), max_size=8)


@given(first=REST, second=REST, host=st.sampled_from(["h", "h:5432", "", "[::1]", "a,b"]))
def test_no_password_is_shown(first: str, second: str, host: str) -> None:
    """Wherever the word stands in it, and whatever stands around it."""
    password = f"{first}{WORD}{second}"
    for url in (
        f"postgresql://user:{password}@{host}/db",
        f"postgresql://:{password}@{host}",
        f"postgresql://user@{host}/db?password={password}",
        f"postgresql://user@{host}/db?sslmode=prefer&password={password}&x=1",
    ):
        assert WORD not in shown_url(url), url


def test_identities() -> None:
    """Equal for one place, whatever the password; different for different places."""
    one = "postgresql://u:old@h/db?host=/a&password=x"
    assert url_identity(one) == url_identity("postgresql://u:new@h/db?host=/a&password=y")
    assert url_identity(one) != url_identity("postgresql://u:old@h/db?host=/b&password=x")
    assert url_identity(one) != url_identity("postgresql://v:old@h/db?host=/a&password=x")
    assert url_identity("sqlite:///a.db") != url_identity("sqlite:///b.db")


def test_schemes() -> None:
    assert scheme_of("PostgreSQL+psycopg://h/db") == "postgresql"
    assert scheme_of("sqlite:///a.db") == "sqlite"
    assert scheme_of("user:password@host/db") == ""
    assert scheme_of("/srv/a.db") == ""
