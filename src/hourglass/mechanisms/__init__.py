"""How totals are noised: one file a mechanism, which registers itself.

Every module of this package is imported with it, so a mechanism is added by adding its file.
``base.py`` says what a mechanism is.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")
