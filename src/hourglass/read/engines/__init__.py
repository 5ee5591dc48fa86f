"""The engines: one module each, which registers itself.

Every module of this package is imported with it, so an engine is added by adding its file.
``source.py`` beside it defines what an engine is.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")
