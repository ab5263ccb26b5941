"""The status of ValidatingAdmissionPolicies: warnings about the types in their expressions.

Upstream: pkg/controller/validatingadmissionpolicystatus/controller.go;
staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final, Protocol

from podwright.apimachinery.cel import MatchedKind, type_warnings
from podwright.apimachinery.objects import Document, NamespacedName, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import VALIDATING_POLICY
from podwright.cluster.controllers.lister import Lister

_KINDS_MAX: Final = 10
"""How many kinds of one rule are checked."""


class KindSource(Protocol):
    """The kinds that the cluster serves, with their schemas."""

    def kinds_of(self, group: str, version: str, resource: str) -> list[MatchedKind]:
        """Return the kinds of a resource; without a group, those of all groups."""
        ...

    def kind(self, group: str, version: str, kind: str) -> MatchedKind:
        """Return a kind; it has no schema if it is not served."""
        ...


class PolicyTypeController(Controller):
    """Checks the types in the expressions of each new generation of a policy."""

    name = "validatingadmissionpolicy-status-controller"
    kinds = (VALIDATING_POLICY,)

    def __init__(self, lister: Lister, source: KindSource) -> None:
        super().__init__(lister)
        self._source = source

    def observe(self, old: Version, new: Version) -> Keys:
        """Return the policy, if it exists."""
        return () if new is None else (new.name,)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Write the warnings of a generation that was not checked yet."""
        policy = self._lister.get(VALIDATING_POLICY, key)
        if policy is None:
            return []
        document = encode(policy)
        generation = document["metadata"].get("generation") or 0
        status = document.get("status") or {}
        if generation <= (status.get("observedGeneration") or 0):
            return []
        spec = document.get("spec") or {}
        warnings = type_warnings(spec, self._matched(spec), self._params(spec))
        checked = {"expressionWarnings": warnings} if warnings else {}
        written = {**status, "observedGeneration": generation, "typeChecking": checked}
        return [self.update(decode({**document, "status": written}), "status")]

    def _matched(self, spec: Document) -> list[MatchedKind]:
        found: dict[tuple[str, str, str], MatchedKind] = {}
        for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
            for count, kind in enumerate(self._of_rule(rule), 1):
                found[kind.group, kind.version, kind.kind] = kind
                if count == _KINDS_MAX:
                    return [found[each] for each in sorted(found)]
        return [found[each] for each in sorted(found)]

    def _of_rule(self, rule: Document) -> Iterator[MatchedKind]:
        groups = sorted(rule.get("apiGroups") or ())
        versions = sorted(rule.get("apiVersions") or ())
        if any("*" in each for each in (*groups, *versions)):
            return
        # Resources with wildcards and subresources are not checked.
        names = sorted(each for each in rule.get("resources") or () if not {"*", "/"} & set(each))
        for group, version, name in product(groups, versions, names):
            yield from self._source.kinds_of(group, version, name)

    def _params(self, spec: Document) -> MatchedKind | None:
        found = spec.get("paramKind")
        if found is None:
            return None
        group, _, version = (found.get("apiVersion") or "").rpartition("/")
        return self._source.kind(group, version, found.get("kind") or "")
