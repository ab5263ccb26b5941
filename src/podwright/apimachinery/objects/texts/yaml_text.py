"""Plain data as YAML that Go's reader and Python's read as the same data.

Text that either would read as something else is quoted: `08`, `1e3` and `0o7` are numbers for Go
and text for PyYAML, and `12e03` may be a commit in a label.

Upstream: go.yaml.in/yaml/v2 encode.go, encoder.stringv
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from podwright.apimachinery.objects.texts.short_texts import cache_short
from podwright.apimachinery.objects.texts.yaml_events import is_plain_text

_RESOLVER: Any = yaml.resolver.Resolver()
_TEXT = "tag:yaml.org,2002:str"
_LETTERS = ("y", "Y", "n", "N")
"""Booleans of YAML 1.1 that PyYAML reads as text."""

_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d?-\d\d?([Tt ]\d\d?:.*)?", re.ASCII)


def write_yaml(value: Any, *, sort_keys: bool = False, width: int = 100) -> str:
    """Return plain data as a YAML document.

    Parameters
    ----------
    value : object
        Of dictionaries, lists, text, numbers, booleans and None.
    sort_keys : bool
        Whether keys are sorted; otherwise they have their order.
    width : int
        Where long lines of text are wrapped.

    Examples
    --------
    >>> print(write_yaml({"labels": {"commit": "12e03", "tier": "web"}}), end="")
    labels:
      commit: "12e03"
      tier: web
    """
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=sort_keys,
        allow_unicode=True,
        default_flow_style=False,
        width=width,
    )
    return text


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # chosen at import
    """Quotes text as upstream's encoder does."""


def _text(dumper: Any, value: str) -> Any:
    return dumper.represent_scalar(_TEXT, value, style="|" if "\n" in value else _quotes(value))


@cache_short(maxsize=4_096)
def _quotes(line: str) -> str | None:
    """Return the quotes that a line needs to be text for Python and Go; None for no reason."""
    is_text = (
        is_plain_text(line)
        and line not in _LETTERS
        and not _BASE_60.fullmatch(line)
        and not _TIME.fullmatch(line)
        and _RESOLVER.resolve(yaml.ScalarNode, line, (True, False)) == _TEXT
    )
    return None if is_text else '"'


_Dumper.add_representer(str, _text)
