"""Aggregated cluster roles: `admin`, `edit` and `view` have the rules of the roles they select.

Upstream: pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Document,
    LabelSelector,
    NamespacedName,
    SelectorError,
    encode,
    label_selector,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import CLUSTER_ROLE
from podwright.cluster.controllers.lister import Lister

_FIELDS: Final = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


class ClusterRoleAggregationController(Controller):
    """Writes the rules of cluster roles with an aggregation rule."""

    name = "clusterrole-aggregation-controller"
    kinds = (CLUSTER_ROLE,)

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._aggregated: dict[str, None] = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return all aggregated roles: any of them may select the role that changed."""
        obj = self.latest_of(old, new)
        if new is not None and encode(new).get("aggregationRule") is not None:
            self._aggregated[obj.name] = None
        else:
            self._aggregated.pop(obj.name, None)
        return sorted(self._aggregated)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Write the rules of one role, if they are others."""
        role = self._lister.get(CLUSTER_ROLE, key)
        if role is None:
            return []
        document = encode(role)
        aggregation = document.get("aggregationRule")
        if aggregation is None:
            return []
        try:
            rules = self._rules(key, aggregation)
        except (SelectorError, msgspec.ValidationError):
            return []  # validation rejects it
        if rules == [_rule(each) for each in document.get("rules") or ()]:
            return []
        return [self.update(decode({**document, "rules": rules}))]

    def _rules(self, name: str, aggregation: Document) -> list[Document]:
        roles = sorted(self._lister.all(CLUSTER_ROLE).items())
        rules: list[Document] = []
        for selector in aggregation.get("clusterRoleSelectors") or ():
            selected = label_selector(msgspec.convert(selector, LabelSelector))
            for other, role in roles:
                if other == name or not selected.matches(role.metadata.labels):
                    continue
                for each in encode(role).get("rules") or ():
                    rule = _rule(each)
                    if rule not in rules:
                        rules.append(rule)
        return rules


def _rule(rule: Document) -> Document:
    """Return a rule with the fields that have a value, for comparison."""
    return {name: rule[name] for name in _FIELDS if rule.get(name)}
