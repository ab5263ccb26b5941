"""Plans for the claims of devices: selectors, constraints and tolerations to change.

The spec of a claim cannot be changed, so the plans name the template that the claim was made of,
or say that the claim has to be created again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from podwright.apimachinery.devices import (
    ALL_DEVICES,
    CONSTRAINT,
    EXACT_COUNT,
    NOT_SELECTED,
    TAINTED,
    Choice,
    claim_name,
    generated_claims,
)
from podwright.apimachinery.objects import (
    DeviceClass,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    Node,
    Pod,
    ResourceClaim,
    ResourceSlice,
    nearest,
    with_fields,
)
from podwright.scheduler.advice import pod_edits
from podwright.scheduler.advice.device_refusals import (
    DeviceRefusals,
    RefusedRequest,
    constraint_text,
    selector_of,
    taint_text,
    untolerated_taints,
)
from podwright.scheduler.advice.edits import Edit, Plan
from podwright.scheduler.columns import Cluster

_ChangeRequest: TypeAlias = Callable[[ExactDeviceRequest | DeviceSubRequest], dict[str, Any]]
"""Returns the changed fields of a request."""


class DeviceFixes:
    """Proposes plans for nodes whose devices do not satisfy the claims of a pod.

    Parameters
    ----------
    pod : Pod
    cluster : Cluster
    refusals : DeviceRefusals
    """

    def __init__(self, pod: Pod, cluster: Cluster, refusals: DeviceRefusals) -> None:
        self._pod = pod
        self._cluster = cluster
        self._refusals = refusals
        generated = generated_claims(pod)
        namespace = pod.metadata.namespace
        self._templates = {
            f"{namespace}/{generated[entry.name]}": entry.resource_claim_template_name
            for entry in pod.spec.resource_claims
            if entry.resource_claim_template_name is not None and entry.name in generated
        }

    def of_node(self, node: Node) -> list[Plan]:
        """Return plans after which devices of a node might satisfy the claims."""
        found = self._refusals.of_node(node.name)
        return [
            (edit,)
            for request in found.requests
            if request.device_count
            for edit in self._edits(request)
        ]

    def of_classes(self) -> Iterator[Plan]:
        """Yield a plan that replaces classes that do not exist by those of a similar name."""
        known = self._cluster.devices.classes
        edits: list[Edit] = []
        for claim, choice in self._refusals.without_class():
            near = nearest(choice.class_name, known)
            if near is None:
                return
            text = (
                f"use deviceClassName {near} instead of {choice.class_name} in request"
                f" {choice.full_name}"
            )
            change = partial(_with_class, name=near)
            edits.append(self._edit(claim, choice, ("class", near), text, 1.0, change))
        if edits:
            yield tuple(edits)

    def of_selectors(self, *, has_failed: bool) -> Iterator[Plan]:
        """Yield plans for selectors; they do not depend on the node.

        Parameters
        ----------
        has_failed : bool
            Whether a selector failed, which ends the attempt: no device was refused then.
        """
        classes = dict.fromkeys(self._refusals.backing_classes())
        names = DeviceNames.of(self._cluster.devices.slice_objects())
        for claim, choice in self._refusals.choices():
            classes[choice.class_name] = None
            for expression in _expressions(choice.selectors):
                if corrections := names.corrections(expression):
                    yield (self._correct_selector(claim, choice, expression, corrections),)
                if has_failed:
                    yield (self._drop_selector(claim, choice, expression),)
        for name in classes:
            device_class = self._cluster.devices.classes.get(name)
            if device_class is None:
                continue
            for expression in _expressions(device_class.spec.selectors):
                if corrections := names.corrections(expression):
                    yield (_correct_class_selector(device_class, expression, corrections),)
                if has_failed:
                    yield (_drop_class_selector(device_class, expression),)

    def _edits(self, request: RefusedRequest) -> Iterator[Edit]:
        selectors: dict[int, None] = {}
        constraints: dict[int, None] = {}
        taints: dict[DeviceTaint, None] = {}
        rules: dict[str, None] = {}
        for reason, device, place in request.refusals.values():
            if reason == NOT_SELECTED and place:
                selectors[place] = None
            elif reason.startswith(CONSTRAINT):
                constraints[place] = None
            elif reason == TAINTED:
                for taint, rule in untolerated_taints(request.choice, device):
                    taints[taint] = None
                    if rule:
                        rules[rule] = None
        for place in selectors:
            yield self._drop_selector_at(request, place)
        for index in constraints:
            yield self._drop_constraint(request, index)
        for name in rules:
            yield self._delete_rule(name)
        if request.mapping is not None:
            # The scheduler makes this claim of the pod: only the pod can be changed.
            yield from self._request_less(request, request.mapping.resource)
        else:
            yield from (self._tolerate(request, taint) for taint in taints)
            yield from self._reduce(request)

    def _request_less(self, request: RefusedRequest, resource: str) -> Iterator[Edit]:
        if not request.usable_count:
            yield pod_edits.remove_request(self._pod, resource, "for which no device can be used")
            return
        edit = pod_edits.shrink(self._pod, resource, request.usable_count)
        if edit is not None:
            yield edit

    def _where(self, claim: ResourceClaim) -> str:
        template = self._templates.get(claim.key)
        if template is None:
            return f"ResourceClaim {claim_name(claim)}, created again"
        return f"ResourceClaimTemplate {claim.metadata.namespace}/{template}"

    def _drop_selector_at(self, request: RefusedRequest, place: int) -> Edit:
        expression = selector_of(request, place, self._cluster)
        if place < 0:
            return _drop_class_selector(
                self._cluster.devices.classes[request.choice.class_name], expression
            )
        return self._drop_selector(request.claim, request.choice, expression)

    def _drop_selector(self, claim: ResourceClaim, choice: Choice, expression: str) -> Edit:
        return self._edit(
            claim,
            choice,
            ("selector", expression),
            f"drop the selector {expression} of request {choice.full_name}",
            1.5,
            lambda of: {"selectors": _without(of.selectors, expression)},
        )

    def _correct_selector(
        self, claim: ResourceClaim, choice: Choice, expression: str, corrections: Mapping[str, str]
    ) -> Edit:
        return self._edit(
            claim,
            choice,
            ("corrected selector", expression),
            f"{correction_text(corrections)} in the selector {expression} of request"
            f" {choice.full_name}",
            1.0,
            lambda of: {"selectors": _corrected(of.selectors, expression, corrections)},
        )

    def _tolerate(self, request: RefusedRequest, taint: DeviceTaint) -> Edit:
        added = DeviceToleration(
            key=taint.key, operator="Equal", value=taint.value, effect=taint.effect
        )
        return self._edit(
            request.claim,
            request.choice,
            ("toleration", taint.key, taint.value, taint.effect),
            f"tolerate {taint_text(taint)} in request {request.choice.full_name}",
            1.2,
            lambda of: {"tolerations": (*of.tolerations, added)},
        )

    def _delete_rule(self, name: str) -> Edit:
        return Edit(
            key=("taint rule", name),
            text=f"delete DeviceTaintRule {name}, which taints devices",
            effort=2.5,
            command=f"kubectl delete devicetaintrule {name}",
            drop=(self._cluster.devices.taint_rules[name],),
        )

    def _reduce(self, request: RefusedRequest) -> Iterator[Edit]:
        count, choice = request.usable_count, request.choice
        is_all = choice.mode == ALL_DEVICES
        if not count or (not is_all and count >= choice.count):
            return
        devices = "all devices" if is_all else f"{choice.count} devices"
        yield self._edit(
            request.claim,
            choice,
            ("count", count),
            f"request {count} instead of {devices} in request {choice.full_name}",
            2.0,
            lambda _of: {"allocation_mode": EXACT_COUNT, "count": count},
        )

    def _edit(
        self,
        claim: ResourceClaim,
        choice: Choice,
        what: tuple[Hashable, ...],
        text: str,
        effort: float,
        change: _ChangeRequest,
    ) -> Edit:
        return Edit(
            key=("device request", claim.key, choice.full_name, *what),
            text=f"{text} ({self._where(claim)})",
            effort=effort,
            claim=claim.key,
            on_claim=partial(_with_request, choice=choice, change=change),
        )

    def _drop_constraint(self, request: RefusedRequest, index: int) -> Edit:
        claim = request.claim
        constraint = claim.spec.devices.constraints[index]

        def without(changed: ResourceClaim) -> ResourceClaim:
            devices = changed.spec.devices
            left = tuple(each for each in devices.constraints if each != constraint)
            return with_fields(changed, "spec", devices=replace(devices, constraints=left))

        text = constraint_text(claim, index)
        return Edit(
            key=("device constraint", claim.key, text),
            text=f"drop the constraint {text} ({self._where(claim)})",
            effort=1.5,
            claim=claim.key,
            on_claim=without,
        )


def _drop_class_selector(device_class: DeviceClass, expression: str) -> Edit:
    left = _without(device_class.spec.selectors, expression)
    return Edit(
        key=("class selector", device_class.name, expression),
        text=f"drop the selector {expression} from DeviceClass {device_class.name}",
        effort=3.0,
        put=(with_fields(device_class, "spec", selectors=left),),
    )


def _with_class(_request: ExactDeviceRequest | DeviceSubRequest, *, name: str) -> dict[str, Any]:
    return {"device_class_name": name}


def _correct_class_selector(
    device_class: DeviceClass, expression: str, corrections: Mapping[str, str]
) -> Edit:
    selectors = _corrected(device_class.spec.selectors, expression, corrections)
    return Edit(
        key=("corrected class selector", device_class.name, expression),
        text=f"{correction_text(corrections)} in the selector {expression} of DeviceClass"
        f" {device_class.name}",
        effort=2.5,
        put=(with_fields(device_class, "spec", selectors=selectors),),
    )


def _expressions(selectors: tuple[DeviceSelector, ...]) -> Iterator[str]:
    return (each.cel.expression for each in selectors if each.cel is not None)


def _corrected(
    selectors: tuple[DeviceSelector, ...], expression: str, corrections: Mapping[str, str]
) -> tuple[DeviceSelector, ...]:
    new = corrected(expression, corrections)
    return tuple(
        replace(each, cel=replace(each.cel, expression=new))
        if each.cel is not None and each.cel.expression == expression
        else each
        for each in selectors
    )


def _without(selectors: tuple[DeviceSelector, ...], expression: str) -> tuple[DeviceSelector, ...]:
    return tuple(
        each for each in selectors if each.cel is None or each.cel.expression != expression
    )


def _with_request(claim: ResourceClaim, *, choice: Choice, change: _ChangeRequest) -> ResourceClaim:
    """Return a claim with changed fields of one request, or of one alternative of it."""
    devices = claim.spec.devices
    requests = []
    for request in devices.requests:
        if request.name != choice.request:
            requests.append(request)
        elif request.exactly is not None:
            exactly = replace(request.exactly, **change(request.exactly))
            requests.append(replace(request, exactly=exactly))
        else:
            alternatives = tuple(
                replace(each, **change(each)) if each.name == choice.alternative else each
                for each in request.first_available
            )
            requests.append(replace(request, first_available=alternatives))
    changed = replace(devices, requests=tuple(requests))
    return with_fields(claim, "spec", devices=changed)


# Names in the selectors of devices that no device has, and what was probably meant.
#
# A selector is an expression in CEL. It names drivers, domains and attributes: a name of which a
# letter is wrong selects nothing, or ends the scheduling attempt with an error.

_STRING: Final = re.compile(r"""(?<!quantity\()(?<!semver\()(["'])([^"'\\]*)\1""")
_MEMBER: Final = re.compile(r"\]\.(\w+)\b(?!\()")
"""An attribute or a capacity, such as in ``device.attributes["gpu.example.com"].model``."""


class DeviceNames(NamedTuple):
    """The names that the devices of a cluster have.

    Attributes
    ----------
    domains : set of str
        The drivers, and the domains of attributes and capacities.
    members : set of str
        The attributes and capacities, without domains.
    values : dict of str to str
        The strings that are values of attributes, by their form in lower case.
    """

    domains: set[str]
    members: set[str]
    values: dict[str, str]

    @classmethod
    def of(cls, slices: Iterable[ResourceSlice]) -> DeviceNames:
        """Collect the names of all devices."""
        found = cls(set(), set(), {})
        for each in slices:
            found.domains.add(each.spec.driver)
            for device in each.spec.devices:
                for name in (*device.attributes, *device.capacity):
                    domain, _, member = name.rpartition("/")
                    found.members.add(member)
                    if domain:
                        found.domains.add(domain)
                for attribute in device.attributes.values():
                    if attribute.string_value is not None:
                        found.values[attribute.string_value.lower()] = attribute.string_value
        return found

    def corrections(self, expression: str) -> dict[str, str]:
        """Return what to replace in a selector, and by what; empty if all names are known.

        A value is only corrected if its letters differ in case: another one may be meant.
        """
        found: dict[str, str] = {}
        for match in _STRING.finditer(expression):
            text = match[2]
            if text in self.domains or text in self.members or text in self.values.values():
                continue
            meant = self.values.get(text.lower()) or nearest(text, self.domains | self.members)
            if meant is not None:
                found[match[0]] = f"{match[1]}{meant}{match[1]}"
        for match in _MEMBER.finditer(expression):
            if match[1] in self.members:
                continue
            meant = nearest(match[1], self.members)
            if meant is not None:
                found[match[0]] = f"].{meant}"
        return found


def corrected(expression: str, corrections: Mapping[str, str]) -> str:
    """Return a selector after corrections."""

    def meant(match: re.Match[str]) -> str:
        return corrections.get(match[0], match[0])

    return _MEMBER.sub(meant, _STRING.sub(meant, expression))


def correction_text(corrections: Mapping[str, str]) -> str:
    """Return corrections in the imperative."""
    # A member has the bracket and the dot before it.
    words = (f"{new.lstrip('].')} for {old.lstrip('].')}" for old, new in corrections.items())
    return f"write {' and '.join(words)}"
