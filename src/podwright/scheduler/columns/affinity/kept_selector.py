"""The selector that a copied pod keeps in an annotation, for its default spreading."""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import (
    EVERYTHING,
    Pod,
    Selector,
    SelectorError,
    parse_label_selector,
)

SPREAD_SELECTOR: Final = "podwright.dev/spread-selector"
"""The annotation of a copied pod with the selector that Services and its owner imply at its
source, where its copy has neither; as kubectl writes selectors."""


def kept_selector(pod: Pod) -> Selector:
    """Return the selector in the annotation; one that matches everything without a valid one."""
    text = pod.metadata.annotations.get(SPREAD_SELECTOR)
    if not text:
        return EVERYTHING
    try:
        return parse_label_selector(text)
    except SelectorError:
        return EVERYTHING
