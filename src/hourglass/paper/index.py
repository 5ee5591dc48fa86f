"""The HTML page with all figures and the table of claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from .exhibit import Claim, Settings

if TYPE_CHECKING:
    from .run import Shown

__all__ = ["CLAIM_HEAD", "page"]

CLAIM_HEAD: Final = ("figure", "claim", "what we measured", "holds?")

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.6rem;
         border-bottom: 1px solid #ddd; }
figure { margin: 2.5rem 0; } img { max-width: 100%; } figcaption { font-size: 0.95rem; }
.no { font-weight: bold; color: #b00020; }
"""


def page(shown: Sequence[Shown], settings: Settings) -> str:
    """The whole page as HTML, pictures by their relative names."""
    paper = [s for s in shown if not s.exhibit.beyond]
    beyond = [s for s in shown if s.exhibit.beyond]
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Mean estimation in the add-remove model, reproduced</title>
<style>{_STYLE}</style></head>
<body>
<h1>Mean estimation in the add-remove model, reproduced</h1>
<p>Every number on this page was computed by this command: {settings.runs:,} runs per point unless a
figure says otherwise, or that it is from an earlier run into the same folder, and
{settings.records:,} records where the data are large. Bars in the pictures are two standard
errors. The noise is the exact sampler that releases use; the data are synthetic.</p>
{_notes(shown, settings)}
{_part("The claims of the paper", "The experiments and pictures of the paper", paper)}
{_part("Our own claims", "Beyond the paper", beyond)}
</body>
</html>
"""


def _part(claims_title: str, title: str, shown: Sequence[Shown]) -> str:
    if not shown:
        return ""
    rows = [(s.exhibit.name, claim) for s in shown for claim in s.claims]
    table = f"<h2>{claims_title}</h2>\n{_claims_html(rows)}" if rows else ""
    return f"{table}\n<h2>{title}</h2>\n" + "\n".join(_figure(s) for s in shown)


def _figure(shown: Shown) -> str:
    exhibit = shown.exhibit
    alt, name = escape(f"{exhibit.title}. {exhibit.caption}", quote=True), shown.picture.name
    seen = shown.picture.suffix in (".png", ".svg")
    picture = f'<img src="{name}" alt="{alt}">' if seen else f'<a href="{name}">{name}</a>'
    return (
        f'<figure id="{exhibit.name}">{picture}'
        f"<figcaption><b>{exhibit.name}. {escape(exhibit.title)}.</b> {escape(exhibit.caption)} "
        f"{_runs(shown)} {escape(shown.earlier + ' ' if shown.earlier else '')}"
        f'<a href="{shown.csv.name}">{shown.csv.name}</a></figcaption></figure>'
    )


def _notes(shown: Sequence[Shown], settings: Settings) -> str:
    """Notes: whether the run is not private, and the results of the user's own algorithms."""
    label = [f"<p><b>{escape(settings.label)}</b></p>"] if settings.label else []
    own = [f"<li>{s.exhibit.name}: {escape(words)}</li>" for s in shown for words in s.own]
    listed = ["<p>Your own algorithms:</p><ul>", *own, "</ul>"] if own else []
    return "\n".join([*label, *listed])


def _runs(shown: Shown) -> str:
    return f"{shown.runs:,} runs per point." if shown.runs else "Computed, not sampled."


def _claims_html(rows: Iterable[tuple[str, Claim]]) -> str:
    lines = [
        f'<tr><td><a href="#{name}">{name}</a></td><td>{escape(claim.text)}</td>'
        f"<td>{escape(claim.measured)}</td>"
        f'<td class="{claim.verdict}">{claim.verdict}</td></tr>'
        for name, claim in rows
    ]
    head = "".join(f"<th>{word}</th>" for word in CLAIM_HEAD)
    return f"<table><tr>{head}</tr>\n" + "\n".join(lines) + "\n</table>"
