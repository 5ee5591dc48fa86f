"""Build the documentation site: ``make docs``, or ``python docs/site/build.py [OUT]``.

The pages of docs/ are plain Markdown that reads well in a repository. This script copies them,
with the proofs, the changelog and the like, into one tree, turns links between them into links of
that tree, and runs Sphinx on it with warnings as errors.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
PICTURES = {".png", ".svg", ".csv"}
#: Pages that live elsewhere in the repository, and their places on the site.
ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "src/hourglass/noise/hourglass.proof.md": "proofs/hourglass.md",
    "src/hourglass/noise/body.proof.md": "proofs/body.md",
}
LINK = re.compile(r"(?<=\]\()([^)\s#]+)")


def place(path: Path) -> Path | None:
    """Where a file of the repository is on the site, if it is on it."""
    name = path.relative_to(ROOT).as_posix()
    if name in ELSEWHERE:
        return Path(ELSEWHERE[name])
    if path.parent == SITE and path.suffix == ".md":
        return Path(path.name)
    if path.is_relative_to(ROOT / "docs") and path.suffix in {".md", *PICTURES}:
        return path.relative_to(ROOT / "docs")
    return None


def pages() -> dict[Path, Path]:
    """Every page and picture of the site: its file, and its place."""
    files = [*(ROOT / "docs").rglob("*"), *(ROOT / name for name in ELSEWHERE)]
    found = {path: place(path) for path in sorted(files) if path.is_file()}
    del found[ROOT / "README.md"]  # the site has a first page of its own
    return {path: where for path, where in found.items() if where is not None}


def relinked(text: str, page: Path) -> str:
    """The text of a page with links to the site's places. One that leads off the site is named."""
    # The site's own pages are written as if they stood in docs/.
    folder = ROOT / "docs" if page.parent == SITE else page.parent
    here = place(page)
    assert here is not None

    def moved(link: re.Match[str]) -> str:
        if re.match(r"[a-z]+:", link[1]):
            return link[1]
        target = (folder / link[1]).resolve()
        if folder == ROOT / "docs" and not target.exists():
            target = SITE / link[1]
        there = place(target) if target.is_file() else None
        if there is None:
            raise SystemExit(f"{page.relative_to(ROOT)}: the link to {link[1]} leads off the site")
        return Path(os.path.relpath(there, here.parent)).as_posix()

    return LINK.sub(moved, text)


def stage(source: Path) -> None:
    """Copy everything into one tree."""
    shutil.rmtree(source, ignore_errors=True)
    for path, where in pages().items():
        target = source / where
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(relinked(path.read_text(encoding="utf-8"), path), encoding="utf-8")
        else:
            shutil.copyfile(path, target)


def main(out: Path) -> int:
    """Stage the pages beside ``out`` and build them into ``out``/html."""
    from sphinx.cmd.build import main as sphinx

    source = out / "source"
    stage(source)
    options = ["-q", "-W", "--keep-going", "-E", "-b", "html", "-c", str(SITE)]
    return sphinx([*options, "-d", str(out / "cache"), str(source), str(out / "html")])


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    code = main(folder)
    if code == 0:
        print(f"open {folder / 'html' / 'index.html'}")
    raise SystemExit(code)
