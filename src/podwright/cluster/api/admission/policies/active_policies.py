"""The policies of one kind with their bindings, each compiled once.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.objects import Document
from podwright.cluster.api.followed import CurrentObjects
from podwright.cluster.store import GroupKind, ObjectStore

P = TypeVar("P")

GROUP = "admissionregistration.k8s.io"


class ActivePolicy(msgspec.Struct, Generic[P], frozen=True, eq=False):
    """A policy that has bindings.

    Attributes
    ----------
    document : dict
    bindings : list of dict
        By name.
    compiled : ValidatingPolicy or MutatingPolicy
    """

    document: Document
    bindings: list[Document]
    compiled: P

    @property
    def name(self) -> str:
        """The name of the policy."""
        return str(self.document["metadata"]["name"])

    @property
    def spec(self) -> Document:
        """The spec of the policy."""
        spec: Document = self.document.get("spec") or {}
        return spec

    @property
    def ignores_failures(self) -> bool:
        """Whether a failure of the policy allows the request."""
        return self.spec.get("failurePolicy") == "Ignore"


def policy_kinds(kind: str) -> frozenset[GroupKind]:
    """Return the kinds of the policies and of their bindings."""
    return frozenset({(GROUP, kind), (GROUP, f"{kind}Binding")})


class ActivePolicies(Generic[P]):
    """Follows the policies and the bindings of one kind.

    Parameters
    ----------
    store : ObjectStore
    kind : str
        The kind of the policies; that of bindings has the ending `Binding`.
    compile_policy : callable
        Compiles the expressions of a policy.
    """

    def __init__(
        self, store: ObjectStore, kind: str, compile_policy: Callable[[Mapping[str, Any]], P]
    ) -> None:
        self._policies = CurrentObjects(store, (GROUP, kind))
        self._bindings = CurrentObjects(store, (GROUP, f"{kind}Binding"))
        self._compile = compile_policy
        self._compiled: dict[str, tuple[Document, P]] = {}

    def active(self) -> list[ActivePolicy[P]]:
        """Return the policies with bindings, by name."""
        bindings = self._bindings.by_key()
        if not bindings:
            return []
        policies = self._policies.by_key()
        bound: dict[str, list[Document]] = {}
        for name in sorted(bindings):
            policy = (bindings[name].get("spec") or {}).get("policyName") or ""
            if policy in policies:
                bound.setdefault(policy, []).append(bindings[name])
        return [
            ActivePolicy(policies[name], bound[name], self._program(name, policies[name]))
            for name in sorted(bound)
        ]

    def _program(self, name: str, policy: Document) -> P:
        known = self._compiled.get(name)
        if known is None or known[0] is not policy:
            with interlude():
                known = self._compiled[name] = (policy, self._compile(policy))
        return known[1]
