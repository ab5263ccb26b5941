"""What classes of modules that mypyc can compile say about themselves.

mypyc reads the decorator in the source; in Python it does nothing, so nothing is installed for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["mypyc_attr"]

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_attributes):
        """Return a decorator that returns its class."""
        return lambda cls: cls
