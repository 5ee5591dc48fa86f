"""How Sphinx builds the site. Everything is local: no fonts, scripts or styles of other hosts."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "hourglass"
release = version = _PROJECT["version"]
copyright = "the hourglass contributors, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# Markdown
myst_heading_anchors = 4
highlight_language = "text"
pygments_dark_style = "monokai"

# The reference
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # and no overloads: docstrings say what is taken
napoleon_google_docstring = False
napoleon_use_rtype = False
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

# The look
html_theme = "furo"
html_title = f"hourglass {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {
    "light_css_variables": {"color-brand-primary": "#a34400", "color-brand-content": "#a34400"},
    "dark_css_variables": {"color-brand-primary": "#f29b5c", "color-brand-content": "#f29b5c"},
}


def _plain(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are prose with ``code``: a bar in a formula is not a substitution."""
    for number, line in enumerate(lines):
        parts = re.split(r"(``.*?``)", line)
        lines[number] = "".join(
            part if part.startswith("``") else re.sub(r"(?<!\\)\|", r"\\|", part) for part in parts
        )


def _signature(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str, returns: str | None
) -> tuple[str, str | None] | None:
    """Calls with every option by name, as users write them, and with what they return."""
    if what not in ("function", "method"):
        return None
    found = inspect.signature(thing)
    plain = [_written(each) for each in found.parameters.values() if each.name != "self"]
    plain.sort(key=lambda p: (p.kind, p.kind == p.KEYWORD_ONLY and p.default is not p.empty))
    returned = None if found.return_annotation is found.empty else str(found.return_annotation)
    return str(found.replace(parameters=plain, return_annotation=found.empty)), returned


def _written(parameter: inspect.Parameter) -> inspect.Parameter:
    required = parameter.kind == parameter.KEYWORD_ONLY and parameter.name in _REQUIRED
    default = parameter.empty if required else parameter.default
    return parameter.replace(annotation=parameter.empty, default=default)


#: Options whose None means that they were forgotten.
_REQUIRED = {"bounds", "epsilon"}


def setup(app: Any) -> None:
    """Connect what prepares docstrings and signatures."""
    app.connect("autodoc-process-docstring", _plain)
    app.connect("autodoc-process-signature", _signature)
