"""Warnings about valid objects: what upstream advises against when it stores them.

The table of kinds names the functions (`module:function`), as those of validation. Each takes the
object with its defaults and the stored object, or None for a new one, and returns texts.

Upstream: pkg/registry/*/*/strategy.go, WarningsOnCreate, WarningsOnUpdate;
pkg/api/*/warnings.go; staging/src/k8s.io/apiserver/pkg/registry/rest/{create,update}.go
"""

from typing import Final

WARNINGS_MAX: Final = 4 * 1024
"""The most warnings of one rule: a reply has room for so many characters of warnings."""
