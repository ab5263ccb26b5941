"""The DeviceCards among manifests: the ResourceSlices that simulated drivers publish at the start.

Upstream has no such kind; see `devices.cards`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podwright.apimachinery.devices import (
    CARDS_KIND,
    is_cards,
    read_cards,
    slices_of_cards,
)
from podwright.apimachinery.objects import SOURCE_UID, FieldError, Node, ResourceSlice, encode
from podwright.simulation.files.object_reader import Sourced


def with_device_slices(
    sourced: Sequence[Sourced], errors: list[FieldError], warnings: list[str]
) -> list[Sourced]:
    """Add the ResourceSlices of described cards, for the nodes among the objects.

    The descriptions stay, for nodes that are added later.

    Parameters
    ----------
    errors : list of FieldError
        Gets what is wrong with the descriptions.
    warnings : list of str
        Gets a text for each description that no node matches.
    """
    if not any(is_cards(entry.object) for entry in sourced):
        return list(sourced)
    nodes = [entry.object for entry in sourced if isinstance(entry.object, Node)]
    published = {
        (entry.object.spec.driver, entry.object.spec.node_name)
        for entry in sourced
        if isinstance(entry.object, ResourceSlice)
    }
    described: dict[tuple[str, str], str] = {}
    found: list[Sourced] = []
    for entry in sourced:
        found.append(entry)
        if not is_cards(entry.object):
            continue
        spec, problems = read_cards(encode(entry.object))
        if spec is None:
            _add(errors, entry.source, problems)
            continue
        chosen = [
            node for node in nodes if spec.node_selector.items() <= node.metadata.labels.items()
        ]
        mirrored = [node.name for node in chosen if SOURCE_UID in node.metadata.annotations]
        if mirrored:
            which = f"node {mirrored[0]} is left alone: it has"
            if len(mirrored) > 1:
                which = f"{len(mirrored)} nodes such as {mirrored[0]} are left alone: they have"
            warnings.append(
                f"{entry.source}: {CARDS_KIND} {entry.object.name}: {which} the devices of the"
                " cluster that is mirrored"
            )
            chosen = [node for node in chosen if SOURCE_UID not in node.metadata.annotations]
        elif not chosen:
            labels = ", ".join(f"{key}={value}" for key, value in spec.node_selector.items())
            which = f"no node has the labels {labels}" if labels else "there are no nodes"
            warnings.append(
                f"{entry.source}: {CARDS_KIND} {entry.object.name} has no effect so far: {which}"
            )
        for node in chosen:
            place = spec.driver, node.name
            first = described.setdefault(place, entry.object.name)
            if first != entry.object.name:
                message = (
                    f"node {node.name} has cards of driver {spec.driver} by {CARDS_KIND} {first}"
                    " already"
                )
                errors.append(FieldError(source=entry.source, path="spec.driver", message=message))
                break
            if place in published:
                continue
            objects, problems = slices_of_cards(entry.object.name, spec, node.name)
            if problems:
                # The slices of the other nodes have the same problems.
                _add(errors, entry.source, problems)
                break
            found += [Sourced(entry.source, obj) for obj in objects]
    return found


def _add(errors: list[FieldError], source: str, problems: Iterable[tuple[str, str]]) -> None:
    errors += [FieldError(source=source, path=path, message=message) for path, message in problems]
