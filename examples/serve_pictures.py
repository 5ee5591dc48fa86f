"""The pictures of docs/serve.md, taken of the service on the example data by a real browser.

python examples/serve_pictures.py

It takes Chromium and the packages that the tests take.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import hourglass as hg

HERE = Path(__file__).parent
PICTURES = HERE.parent / "docs" / "pictures"


def take(page: Any) -> None:
    page.get_by_role("link", name="Ask a question").first.click()
    page.get_by_label("For each").select_option(label="Self-rated health")
    page.wait_for_timeout(1000)  # the preview follows what is chosen
    page.screenshot(path=PICTURES / "serve-question.png", full_page=True)
    page.get_by_role("button", name="Review the question").click()
    page.get_by_role("button", name="Spend").click()
    page.wait_for_url("**/answers/**")
    page.screenshot(path=PICTURES / "serve-answer.png", full_page=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("catalogue.toml", "visits.parquet"):
            shutil.copy(HERE / file, folder)
        hg.create_budget(str(folder / "visits.ledger"), "visits-2026", epsilon=5)
        command = [sys.executable, "-m", "hourglass", "serve", str(folder / "catalogue.toml")]
        with subprocess.Popen(command, stdout=-1, stderr=-3, text=True) as server:
            assert server.stdout is not None
            told = server.stdout.readline() + server.stdout.readline()
            link = re.search(r"http\S+/login\?code=\S+", told)
            assert link is not None, told
            try:
                photograph(link[0])
            finally:
                server.terminate()


def photograph(link: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        path = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=path, args=options)
        page = browser.new_page(viewport={"width": 1000, "height": 800})
        page.set_default_timeout(20_000)
        page.goto(link)
        page.get_by_role("button", name="Continue").click()
        take(page)
        browser.close()


if __name__ == "__main__":
    main()
