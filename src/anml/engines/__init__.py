"""Engines: `Local` and `Ray` audit tables with more rows than memory, slice by slice."""

from anml.engines.options import Local, Ray

__all__ = ["Local", "Ray"]
