"""Decisions are the same with and without groups of nodes, while pods fill many hosts."""

from __future__ import annotations

import pytest

import podwright as pw
from podwright.apimachinery.objects import Object
from podwright.scheduler.framework.rankings.groups import GroupedTotals

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
WEB = {"matchLabels": {"app": "web"}}


def spread(key: str, when: str, **fields: object) -> dict[str, object]:
    return {
        "topologyKey": key, "whenUnsatisfiable": when, "maxSkew": 1, "labelSelector": WEB, **fields,
    }  # fmt: skip


def away(key: str) -> dict[str, object]:
    term = {"weight": 30, "podAffinityTerm": {"topologyKey": key, "labelSelector": WEB}}
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


def required(kind: str, key: str, app: str = "web") -> dict[str, object]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


NEAR, AWAY = "podAffinity", "podAntiAffinity"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
SPECS = {
    "hard hosts": {"topologySpreadConstraints": [spread(HOST, HARD)]},
    "hard zones": {"topologySpreadConstraints": [spread(ZONE, HARD)]},
    "absent domains": {"topologySpreadConstraints": [spread(ZONE, HARD, minDomains=5, maxSkew=40)]},
    "hard both": {"topologySpreadConstraints": [spread(ZONE, HARD), spread(HOST, HARD)]},
    "hard and soft": {"topologySpreadConstraints": [spread(ZONE, HARD), spread(HOST, SOFT)]},
    "away from hosts": {"affinity": away(HOST)},
    "hard zones, away from hosts": {
        "topologySpreadConstraints": [spread(ZONE, HARD)],
        "affinity": away(HOST),
    },
    "required near zones": {"affinity": required(NEAR, ZONE)},
    "required near hosts": {"affinity": required(NEAR, HOST)},
    "required near hosts of others": {"affinity": required(NEAR, HOST, "other")},
    "required near no pod": {"affinity": required(NEAR, ZONE, "absent")},
    "required away from hosts": {"affinity": required(AWAY, HOST)},
    "required away from zones of others": {"affinity": required(AWAY, ZONE, "other")},
    "required near zones, away from hosts of others": {
        "affinity": required(NEAR, ZONE) | required(AWAY, HOST, "other")
    },
    "required near zones, away from hosts": {
        "affinity": required(NEAR, ZONE) | away(HOST),
    },
    "hard hosts, away from zones": {
        "topologySpreadConstraints": [spread(HOST, HARD, maxSkew=2)],
        "affinity": away(ZONE),
    },
}


def cluster() -> list[Object]:
    """Return 30 hosts in three zones, of which some have no labels, and some run pods."""
    found: list[Object] = []
    for number in range(30):
        labels = {HOST: f"n{number}", ZONE: f"z{number % 3}"} if number % 11 else {}
        found.append(pw.testing.make_node(f"n{number}", cpu=str(4 + number % 3), labels=labels))
        if number % 4 == 0:
            labels = {"app": "web" if number % 8 else "other"}
            found.append(
                pw.testing.make_pod(f"old-{number}", cpu="700m", labels=labels, node=f"n{number}")
            )
    return found


def decisions(spec: dict[str, object]) -> list[tuple[object, ...]]:
    scheduler = pw.Scheduler()
    scheduler.add(*cluster())
    found = []
    for number in range(150):
        pod = pw.testing.make_pod(f"web-{number}", cpu="900m", labels={"app": "web"}, spec=spec)
        found.append(scheduler.schedule(pod))
        if number % 17 == 16:
            scheduler.withdraw(f"default/web-{number - 9}")
    return [(d.node, d.total, d.tie_count, d.feasible_count, d.message) for d in found]


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_groups_change_no_decision(spec, monkeypatch):
    picked: list[int] = []
    pick = GroupedTotals.pick

    def watched(*arguments) -> int:
        picked.append(pick(*arguments))
        return picked[-1]

    with monkeypatch.context() as patch:
        patch.setattr(GroupedTotals, "pick", watched)
        grouped = decisions(spec)
    # Groups are made when a key comes again. Calls of one compiled module by another are not seen.
    placed = [node for node, *_ in grouped if node]
    if not hasattr(GroupedTotals, "__mypyc_attrs__"):
        assert len([slot for slot in picked if slot >= 0]) >= min(len(placed) - 2, 50)
        assert picked
    monkeypatch.setattr(GroupedTotals, "of", lambda *_: None)
    assert grouped == decisions(spec)
