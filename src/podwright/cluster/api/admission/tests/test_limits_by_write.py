"""What limit ranges make of single pods and claims: whole specs, whole messages."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.pods.limit_ranges import (
    ANNOTATION,
    LimitRanger,
    with_default_resources,
)
from podwright.cluster.api.admission.tests.contexts import (
    a_context,
    a_store,
    a_write,
    named,
    outcome,
)


def limit_range(*items: Document, name: str = "l", namespace: str = "default") -> Document:
    return named("v1 LimitRange", name, namespace, spec={"limits": list(items)})


def containers(*resources: Document, field: str = "containers") -> Document:
    return {field: [{"name": f"c{i}", "resources": each} for i, each in enumerate(resources)]}


DEFAULTS = {
    "type": "Container",
    "defaultRequest": {"cpu": "1", "memory": "1Gi"},
    "default": {"cpu": "2"},
}
FULL = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}


@pytest.mark.parametrize(
    ("spec", "items", "made", "changes"),
    [
        (containers({}), [], containers({}), None),
        (containers({}), [{"type": "Pod", "default": {"cpu": "1"}}], containers({}), None),
        (containers({}), [{"type": "Container"}], containers({}), None),
        (
            containers({}), [DEFAULTS], containers(FULL),
            "cpu, memory request for container c0; cpu limit for container c0",
        ),
        (containers(FULL), [DEFAULTS], containers(FULL), None),
        (
            containers(FULL, {"requests": {"cpu": "5"}}), [DEFAULTS],
            containers(
                FULL, {"requests": {"cpu": "5", "memory": "1Gi"}, "limits": {"cpu": "2"}}
            ),
            "memory request for container c1; cpu limit for container c1",
        ),
        (
            containers({}, field="initContainers"), [DEFAULTS],
            containers(FULL, field="initContainers"),
            "cpu, memory request for init container c0; cpu limit for init container c0",
        ),
        (
            containers({}), [{"type": "Container", "default": {"cpu": "2"}}],
            containers({"limits": {"cpu": "2"}}), "cpu limit for container c0",
        ),
        (
            containers({}), [{"type": "Container", "defaultRequest": {"cpu": "2"}}],
            containers({"requests": {"cpu": "2"}}), "cpu request for container c0",
        ),
        (  # The last default applies.
            containers({}),
            [{"type": "Container", "default": {"cpu": "2", "x": "1"}},
             {"type": "Container", "default": {"cpu": "3"}}],
            containers({"limits": {"cpu": "3", "x": "1"}}), "cpu, x limit for container c0",
        ),
        ({}, [DEFAULTS], {}, None),
    ],
)  # fmt: skip
def test_the_defaults_of_containers(
    spec: Document, items: list[Document], made: Document, changes: str | None
) -> None:
    pod = {"metadata": {"name": "p", "annotations": {"a": "b"}}, "spec": spec}
    found = with_default_resources(pod, limit_range(*items))
    if changes is None:
        assert found is pod
    else:
        text = f"LimitRanger plugin set: {changes}"
        annotations = {"a": "b", ANNOTATION: text}
        assert found == {"metadata": {"name": "p", "annotations": annotations}, "spec": made}


def test_limit_ranges_of_the_namespace_apply_in_the_order_of_their_names() -> None:
    def item(cpu: str) -> Document:
        return {"type": "Container", "default": {"cpu": cpu}}

    store = a_store(
        limit_range(item("2"), name="b"), limit_range(item("1"), name="a"),
        limit_range(item("3"), name="0", namespace="other"),
    )  # fmt: skip
    pod = {"metadata": {"name": "p"}, "spec": containers({})}
    found = outcome(LimitRanger(a_context(store)), a_write("v1 Pod", pod))
    assert isinstance(found, dict)
    assert found["spec"] == containers({"limits": {"cpu": "1"}})
    for write in (
        a_write("v1 Pod", pod, pod),
        a_write("v1 Pod", pod, pod, subresource="resize", operation="CREATE"),
        a_write("v1 Pod", pod, subresource="binding"),
        a_write("v1 Pod", pod, namespace="empty"),
        a_write("v1 PersistentVolumeClaim", pod),
    ):
        assert outcome(LimitRanger(a_context(store)), write) == pod
    resized = outcome(
        LimitRanger(a_context(store)), a_write("v1 Pod", pod, pod, subresource="resize")
    )
    assert isinstance(resized, dict)
    assert resized["spec"] == containers({"limits": {"cpu": "1"}})


def cpu(request: str | None, limit: str | None = None) -> Document:
    found: Document = {}
    if request is not None:
        found["requests"] = {"cpu": request}
    if limit is not None:
        found["limits"] = {"cpu": limit}
    return found


MIN, MAX, RATIO = ({"type": "Container", name: {"cpu": "2"}}
                   for name in ("min", "max", "maxLimitRequestRatio"))  # fmt: skip
LEAST = "minimum cpu usage per Container is 2"
MOST = "maximum cpu usage per Container is 2"
WIDEST = "cpu max limit to request ratio per Container is 2"


@pytest.mark.parametrize(
    ("item", "resources", "problem"),
    [
        (MIN, cpu("2"), None),
        (MIN, cpu("2", "2"), None),
        (MIN, cpu(None), f"{LEAST}.  No request is specified"),
        (MIN, cpu(None, "3"), f"{LEAST}.  No request is specified"),
        (MIN, cpu("1999m"), f"{LEAST}, but request is 1999m"),
        (MIN, cpu("2", "1"), f"{LEAST}, but limit is 1"),
        (MAX, cpu(None, "2"), None),
        (MAX, cpu("2", "2"), None),
        (MAX, cpu(None), f"{MOST}.  No limit is specified"),
        (MAX, cpu("1"), f"{MOST}.  No limit is specified"),
        (MAX, cpu(None, "2001m"), f"{MOST}, but limit is 2001m"),
        (MAX, cpu("3", "2"), f"{MOST}, but request is 3"),
        (RATIO, cpu("1", "2"), None),
        (RATIO, cpu("2", "1"), None),
        (RATIO, cpu("1", "2001m"), f"{WIDEST}, but provided ratio is 2.001000"),
        (RATIO, cpu(None, "1"), f"{WIDEST}, but no request is specified or request is 0"),
        (RATIO, cpu("0", "1"), f"{WIDEST}, but no request is specified or request is 0"),
        (RATIO, cpu("1"), f"{WIDEST}, but no limit is specified or limit is 0"),
        (RATIO, cpu("1", "0"), f"{WIDEST}, but no limit is specified or limit is 0"),
        ({"type": "PersistentVolumeClaim", "max": {"cpu": "1"}}, cpu("3", "3"), None),
    ],
)
def test_the_bounds_of_a_container(
    item: Document, resources: Document, problem: str | None
) -> None:
    store = a_store(limit_range(item))
    for field in ("containers", "initContainers"):
        pod = {"metadata": {"name": "p"}, "spec": containers(resources, field=field)}
        found = outcome(LimitRanger(a_context(store)), a_write("v1 Pod", pod))
        expected = None if problem is None else f'pods "p" is forbidden: {problem}'
        assert (found if isinstance(found, str) else None) == expected


def test_every_problem_is_named() -> None:
    item = {
        "type": "Container",
        "min": {"memory": "1Gi", "cpu": "1"},
        "max": {"memory": "2Gi", "cpu": "2"},
    }
    pod = {"metadata": {"name": "p"}, "spec": containers({"requests": {"memory": "1Mi"}})}
    found = outcome(LimitRanger(a_context(a_store(limit_range(item)))), a_write("v1 Pod", pod))
    assert found == (
        'pods "p" is forbidden: [minimum cpu usage per Container is 1.  No request is specified,'
        " minimum memory usage per Container is 1Gi, but request is 1Mi, maximum cpu usage per"
        " Container is 2.  No limit is specified, maximum memory usage per Container is 2Gi.  No"
        " limit is specified]"
    )


def test_the_bounds_of_a_whole_pod() -> None:
    store = a_store(limit_range({"type": "Pod", "max": {"cpu": "3"}, "min": {"cpu": "2"}}))
    for spec, problem in (
        (containers(cpu("1", "1"), cpu("1", "2")), None),
        (
            containers(cpu("1", "2"), cpu("1", "2")),
            "maximum cpu usage per Pod is 3, but limit is 4",
        ),
        (containers(cpu("1", "2")), "minimum cpu usage per Pod is 2, but request is 1"),
        (containers(cpu("1", "2")) | {"resources": cpu("2", "3")}, None),
        (containers(cpu("2", "2")) | {"overhead": {"cpu": "9"}}, None),
    ):  # fmt: skip
        pod = {"metadata": {"name": "p"}, "spec": spec}
        found = outcome(LimitRanger(a_context(store)), a_write("v1 Pod", pod))
        expected = None if problem is None else f'pods "p" is forbidden: {problem}'
        assert (found if isinstance(found, str) else None) == expected


@pytest.mark.parametrize(
    ("storage", "facts", "problem"),
    [
        ("1Gi", {}, None),
        ("2Gi", {}, None),
        ("1Mi", {}, "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"),
        ("3Gi", {}, "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"),
        (
            None, {},
            "[minimum storage usage per PersistentVolumeClaim is 1Gi.  No request is specified,"
            " maximum storage usage per PersistentVolumeClaim is 2Gi.  No request is specified]",
        ),
        ("3Gi", {"operation": "DELETE"}, None),
        ("3Gi", {"operation": "UPDATE", "old": {"metadata": {"deletionTimestamp": "x"}}}, None),
        (
            "3Gi", {"operation": "UPDATE", "old": {"metadata": {}}},
            "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi",
        ),
        ("3Gi", {"subresource": "status"}, None),
    ],
)  # fmt: skip
def test_the_bounds_of_a_claim(
    storage: str | None, facts: dict[str, Any], problem: str | None
) -> None:
    item = {
        "type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"},
    }  # fmt: skip
    others = [{"type": "Container", "max": {"storage": "1"}}, {"type": "Pod", "max": {"x": "1"}}]
    store = a_store(limit_range(*others, item))
    resources = {"requests": {"storage": storage}} if storage else {}
    claim = {"metadata": {"name": "c"}, "spec": {"resources": resources}}
    write = a_write("v1 PersistentVolumeClaim", claim, **facts)
    found = outcome(LimitRanger(a_context(store)), write)
    expected = f'persistentvolumeclaims "c" is forbidden: {problem}' if problem else None
    assert (found if isinstance(found, str) else None) == expected


def test_the_bounds_of_a_claim_are_named_in_the_order_of_their_resources() -> None:
    bounds = {"b": "1", "storage": "1", "a": "1"}
    item = {"type": "PersistentVolumeClaim", "min": bounds, "max": bounds}
    claim = {"metadata": {"name": "c"}, "spec": {"resources": {}}}
    plugin = LimitRanger(a_context(a_store(limit_range(item))))
    found = outcome(plugin, a_write("v1 PersistentVolumeClaim", claim))
    problems = ", ".join(
        f"{bound} {name} usage per PersistentVolumeClaim is 1.  No request is specified"
        for bound in ("minimum", "maximum")
        for name in ("a", "b", "storage")
    )
    assert found == f'persistentvolumeclaims "c" is forbidden: [{problems}]'


def test_amounts_are_compared_in_thousandths_where_these_fit() -> None:
    """Beyond 2^63 thousandths, upstream compares whole numbers."""
    large = "9223372036854775"
    for bound, request, is_rejected in (
        (large, "9223372036854775001m", True),
        ("9223372036854776", "9223372036854776001m", True),
        ("9223372036854776", "9223372036854775999m", False),
    ):
        store = a_store(limit_range({"type": "Pod", "max": {"x": bound}}))
        spec = containers({"limits": {"x": request}})
        found = outcome(
            LimitRanger(a_context(store)),
            a_write("v1 Pod", {"metadata": {"name": "p"}, "spec": spec}),
        )
        assert isinstance(found, str) is is_rejected, (bound, request)


def test_whether_a_namespace_decides_by_the_shape_of_pods() -> None:
    plugin = LimitRanger(a_context(a_store(limit_range({"type": "Pod"}))))
    assert not plugin.decides_by_shape(a_write("v1 Pod", {}))
    assert plugin.decides_by_shape(a_write("v1 Pod", {}, namespace="other"))
