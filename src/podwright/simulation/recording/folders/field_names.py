"""The names of fields in the documents of a run folder.

Documents have camelCase keys, as those of Kubernetes; fields of structs are in snake_case.
"""

from __future__ import annotations


def camel_case(name: str) -> str:
    """Return a name in snake_case, or words, as camelCase."""
    head, *rest = name.replace(" ", "_").split("_")
    return head + "".join(word.capitalize() for word in rest)
