"""The errors of changed pods: a row is a part after and before, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import ephemeral_container_problems, resize_problems
from podwright.apimachinery.schema.tests.pod_errors import POD, shown
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.pods.pod_update import validate_pod_update

Document = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
MIRROR = "kubernetes.io/config.mirror"
ONLY = "pod updates may not change fields other than"
GATES = {"schedulingGates": [{"name": "a"}]}


def c(name: str = "c", **fields: Any) -> Document:
    return {"name": name, "image": "a"} | fields


def pod(spec: Document, **annotations: str) -> Document:
    metadata = {"name": "x", "namespace": "d", "uid": "u", "annotations": annotations}
    return POD.with_defaults({"metadata": metadata, "spec": {"containers": [c()]} | spec})


def lines(problems: list[Any]) -> list[str]:
    short = [(path, message.partition("\n")[0]) for path, message, _ in problems]
    return [
        f"{path}: {shown(text).partition(ONLY)[0] or ONLY}".removeprefix("spec.")
        for path, text in short
    ]


def of_change(new: Document, old: Document) -> list[str]:
    return lines(POD.update_problems(pod(new), pod(old)))


def of_gated(new: Document, old: Document) -> list[str]:
    return of_change(GATES | new, GATES | old)


def of_mirror(new: str, old: str) -> list[str]:
    notes = [{MIRROR: each} if each else {} for each in (new, old)]
    return lines(POD.update_problems(pod({}, **notes[0]), pod({}, **notes[1])))


def of_debug(new: Document, old: Document, **annotations: str) -> list[str]:
    return lines(ephemeral_container_problems(pod(new), pod(old, **annotations)))


def of_resize(new: Document, old: Document) -> list[str]:
    return lines(resize_problems(pod(new), pod(old), qos_class="Burstable"))


def node(*terms: Document, **others: Any) -> Document:
    required = {REQUIRED: {"nodeSelectorTerms": list(terms)}} if terms else {}
    return {"nodeAffinity": required | others}


def term(*keys: str, fields: tuple[str, ...] = ()) -> Document:
    expressions = [{"key": key, "operator": "Exists"} for key in keys]
    names = [{"key": "metadata.name", "operator": "In", "values": [each]} for each in fields]
    found = {"matchExpressions": expressions, "matchFields": names}
    return {name: each for name, each in found.items() if each}


def amounts(**requests: str) -> Document:
    return {"resources": {"requests": requests}}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_change({"containers": [c(), c("d")]}, {}),
         ["containers: Forbidden: pod updates may not add or remove containers"]),
        (lambda: of_change({"initContainers": [c("i")]}, {}),
         ["initContainers: Forbidden: pod updates may not add or remove containers"]),
        (lambda: of_change({}, {"initContainers": [c("i")]}),
         ["initContainers: Forbidden: pod updates may not add or remove containers"]),
        (lambda: of_change({"containers": [c(image="b")]}, {}), []),
        (lambda: of_change({"containers": [c(image=" ")]}, {}),
         ['containers[0].image: Invalid value: " ": must not have leading or trailing'
           " whitespace",
          'containers[0].image: Invalid value: " ": must not have leading or trailing'
           " whitespace",
          "spec: Forbidden: "]),
        (lambda: of_change({"initContainers": [c("i", image="")]}, {"initContainers":
          [c("i")]}),
         ["initContainers[0].image: Required value",
          "initContainers[0].image: Required value",
          "spec: Forbidden: "]),
        (lambda: of_change({"initContainers": [c("i", image="b")]}, {"initContainers":
          [c("i")]}), []),
        (lambda: of_change({"initContainers": [c("i", command=["b"])]}, {"initContainers":
          [c("i")]}),
         ["spec: Forbidden: "]),
        (lambda: of_change({"activeDeadlineSeconds": 5}, {"activeDeadlineSeconds": 5}), []),
        (lambda: of_change({"activeDeadlineSeconds": 5}, {"activeDeadlineSeconds": 4}),
         ["activeDeadlineSeconds: Invalid value: 5: must be less than or equal to previous"
           " value"]),
        (lambda: of_change({"activeDeadlineSeconds": 5, "nodeName": "n"},
          {"activeDeadlineSeconds": 4}),
         ["activeDeadlineSeconds: Invalid value: 5: must be less than or equal to previous"
           " value"]),
        (lambda: of_change({"activeDeadlineSeconds": 4}, {"activeDeadlineSeconds": 5}), []),
        (lambda: of_change({}, {"activeDeadlineSeconds": 5}),
         ["activeDeadlineSeconds: Invalid value: null: must not update from a positive"
           " integer to nil value"]),
        (lambda: of_change({"activeDeadlineSeconds": 2**31}, {}),
         ["activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and"
           " 2147483647, inclusive",
          "activeDeadlineSeconds: Invalid value: 2147483648: must be between 0 and"
           " 2147483647, inclusive"]),
        (lambda: of_change({"activeDeadlineSeconds": 2**31, "nodeName": "n"}, {}),
         ["activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and"
           " 2147483647, inclusive",
          "activeDeadlineSeconds: Invalid value: 2147483648: must be between 0 and"
           " 2147483647, inclusive"]),
        (lambda: of_change({"tolerations": [{"key": "a", "operator": "Exists", "effect": ""}]},
          {"tolerations": [{"key": "a", "operator": "Exists"}]}), []),
        (lambda: of_gated({"affinity": node({"matchExpressions": [{"key": "a", "operator":
          "Exists"}]}) | {"podAffinity": {}}}, {}),
         ["spec: Forbidden: "]),
        (lambda: of_change({"tolerations": [{"key": "a", "operator": "Exists"}]}, {}), []),
        (lambda: of_change({}, {"tolerations": [{"key": "a", "operator": "Exists"}]}),
         ["tolerations: Forbidden: existing toleration can not be modified except its"
           " tolerationSeconds"]),
        (lambda: of_change({"tolerations": [{"key": "a", "operator": "Exists", "effect":
          "NoExecute", "tolerationSeconds": 5}]}, {"tolerations": [{"key": "a", "operator":
          "Exists", "effect": "NoExecute"}]}), []),
        (lambda: of_change({"tolerations": [{"key": "b", "operator": "Exists"}]},
          {"tolerations": [{"key": "a", "operator": "Exists"}]}),
         ["tolerations: Forbidden: existing toleration can not be modified except its"
           " tolerationSeconds"]),
        (lambda: of_change({"terminationGracePeriodSeconds": 1},
          {"terminationGracePeriodSeconds": -1}), []),
        (lambda: of_change({"terminationGracePeriodSeconds": 2},
          {"terminationGracePeriodSeconds": -1}),
         ["spec: Forbidden: "]),
        (lambda: of_change({"terminationGracePeriodSeconds": 1},
          {"terminationGracePeriodSeconds": 5}),
         ["spec: Forbidden: "]),
        (lambda: of_change({"nodeName": "n"}, {}),
         ["spec: Forbidden: "]),
        (lambda: of_change(GATES, {}),
         ["schedulingGates[0].name: Forbidden: only deletion is allowed, but found new"
           " scheduling gate 'a'"]),
        (lambda: of_change({}, GATES), []),
        (lambda: of_change({"schedulingGates": [{"name": "b"}, {"name": "a"}]}, GATES),
         ["schedulingGates[0].name: Forbidden: only deletion is allowed, but found new"
           " scheduling gate 'b'"]),
        (lambda: of_change({"nodeSelector": {"a": "b"}}, {}),
         ["spec: Forbidden: "]),
        (lambda: of_gated({"nodeSelector": {"a": "b"}}, {}), []),
        (lambda: of_gated({"nodeSelector": {"a": "b", "c": "d"}}, {"nodeSelector": {"a":
          "b"}}), []),
        (lambda: of_gated({"nodeSelector": {"a": "c"}}, {"nodeSelector": {"a": "b"}}),
         ['nodeSelector: Invalid value: {"a":"c"}: only additions to spec.nodeSelector are'
           " allowed (no mutations or deletions)"]),
        (lambda: of_gated({}, {"nodeSelector": {"a": "b"}}),
         ["nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed"
           " (no mutations or deletions)"]),
        (lambda: of_gated({"affinity": node(term("a"))}, {}), []),
        (lambda: of_gated({"affinity": node(term("a", "b"))}, {"affinity":
          node(term("a"))}), []),
        (lambda: of_gated({"affinity": node(term("b", "a"))}, {"affinity":
          node(term("a"))}),
         ["affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecu"
           "tion.nodeSelectorTerms[0]: Invalid value:"
           ' {"MatchExpressions":[{"Key":"b","Operator":"Exists","Values":nu'
           'll},{"Key":"a","Operator":"Exists","Values":null}],"MatchFields":null}: only'
           " additions are allowed (no mutations or deletions)"]),
        (lambda: of_gated({"affinity": node(term("a"), term("b"))}, {"affinity":
          node(term("a"))}),
         ["affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecu"
           "tion.nodeSelectorTerms: Invalid value:"
           ' [{"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":n'
           'ull}],"MatchFields":null},{"MatchExpressions":[{"Key":"b","Opera'
           'tor":"Exists","Values":null}],"MatchFields":null}]: no additions/deletions to'
           " non-empty NodeSelectorTerms list are allowed"]),
        (lambda: of_gated({"affinity": node(term("a", fields=("n",)))}, {"affinity":
          node(term("a"))}), []),
        (lambda: of_gated({"affinity": node(term(fields=("n",)))}, {"affinity":
          node(term(fields=("m",)))}),
         ["affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecu"
           "tion.nodeSelectorTerms[0]: Invalid value:"
           ' {"MatchExpressions":null,"MatchFields":[{"Key":"metadata.name",'
           '"Operator":"In","Values":["n"]}]}: only additions are allowed (no mutations or'
           " deletions)"]),
        (lambda: of_gated({"affinity": node(term("a"))}, {"affinity": node({}, {})}),
         ["affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecu"
           "tion.nodeSelectorTerms: Invalid value:"
           ' [{"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":n'
           'ull}],"MatchFields":null}]: no additions/deletions to non-empty NodeSelectorTerms'
           " list are allowed"]),
        (lambda: of_gated({"affinity": node(term("a"), term("b", "c"))}, {"affinity":
          node(term("a"), term("b"))}), []),
        (lambda: of_gated({"affinity": node(term("a"), term("c"))}, {"affinity":
          node(term("a"), term("b"))}),
         ["affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecu"
           "tion.nodeSelectorTerms[1]: Invalid value:"
           ' {"MatchExpressions":[{"Key":"c","Operator":"Exists","Values":nu'
           'll}],"MatchFields":null}: only additions are allowed (no mutations or deletions)']),
        (lambda: of_gated({"affinity": node(term("a"))}, {"affinity": {"podAffinity": {}}}),
         ["spec: Forbidden: "]),
        (lambda: of_gated({"affinity": {"podAffinity": {}} | node(term("a"))}, {"affinity":
          {"podAffinity": {}}}), []),
        (lambda: of_gated({"affinity": node(term("a"), {})}, {"affinity": node({}, {})}),
         ["affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecu"
           "tion.nodeSelectorTerms[0]: Invalid value:"
           ' {"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":nu'
           'll}],"MatchFields":null}: only additions are allowed (no mutations or deletions)']),
        (lambda: of_gated({}, {"affinity": node(term("a"))}),
         ["affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecu"
           "tion.nodeSelectorTerms: Invalid value: []: no additions/deletions to non-empty"
           " NodeSelectorTerms list are allowed"]),
        (lambda: of_gated({"affinity": node(**{PREFERRED: [{"weight": 1, "preference":
          term("a")}]})}, {}), []),
        (lambda: of_mirror("a", "a"),
         ['metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "a": must set'
           " spec.nodeName if mirror pod annotation is set"]),
        (lambda: of_mirror("b", "a"),
         ['metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "b": must set'
           " spec.nodeName if mirror pod annotation is set",
          "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or"
           " update mirror pod annotation"]),
        (lambda: of_mirror("", "a"),
         ["metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or"
           " update mirror pod annotation"]),
        (lambda: of_mirror("a", ""),
         ['metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "a": must set'
           " spec.nodeName if mirror pod annotation is set",
          "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror"
           " pod annotation"]),
    ],
)  # fmt: skip
def test_changed_pods(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("seconds", "before", "is_allowed"),
    [(1, -1, True), (1, -30, True), (2, -1, False), (0, -1, False), (1, 5, False), (1, 0, False),
     (1, None, False), (None, -1, False), (-1, -1, True)],
)  # fmt: skip
def test_only_a_negative_grace_period_may_become_1(
    seconds: int | None, before: int | None, is_allowed: bool
) -> None:
    # Stored as it was sent: the defaults of today replace a negative one.
    new, old = (
        pod({}) | {"spec": pod({})["spec"] | {"terminationGracePeriodSeconds": each}}
        for each in (seconds, before)
    )
    errors = FieldErrors()
    validate_pod_update(errors, new, old)
    assert any("may not change fields" in text for _, text, _ in errors.problems) is not is_allowed


def test_the_differences_of_changed_pods_are_shown_from_old_to_new() -> None:
    (problem,) = POD.update_problems(pod({"nodeName": "new"}), pod({"nodeName": "old"}))
    changed = [line.strip() for line in problem[1].splitlines() if line[:1] in ("-", "+")]
    assert changed == ['- "NodeName": "old",', '+ "NodeName": "new",']
    debug = [{"ephemeralContainers": [c("e", image=image)]} for image in ("new", "old")]
    (problem,) = ephemeral_container_problems(*map(pod, debug))
    changed = [line.strip() for line in problem[1].splitlines() if line[:1] in ("-", "+")]
    assert changed == ['- "Image": "old",', '+ "Image": "new",']


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_debug({"ephemeralContainers": [c("e")]}, {}), []),
        (lambda: of_debug({"ephemeralContainers": [c("c")]}, {}),
         ['ephemeralContainers[0].name: Duplicate value: "c"']),
        (lambda: of_debug({"ephemeralContainers": [c("f"), c("e")]},
          {"ephemeralContainers": [c("e")]}), []),
        (lambda: of_debug({"ephemeralContainers": [c("e", image="b"), c("f")]},
          {"ephemeralContainers": [c("e"), c("g")]}),
         ['ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be changed',
          'ephemeralContainers: Forbidden: existing ephemeral containers "g" may not be removed']),
        (lambda: of_debug({"ephemeralContainers": [c("c")]}, {}, **{MIRROR: "a"}),
         [": Forbidden: static pods do not support ephemeral containers"]),
        (lambda: of_resize({"containers": [c(**amounts(cpu="2"))]}, {"containers":
          [c(**amounts(cpu="1"))]}), []),
        (lambda: of_resize({"containers": [c(**amounts(cpu="2", memory="1"))]},
          {"containers": [c(**amounts(cpu="1"))]}), []),
        (lambda: of_resize({"containers": [c(**amounts(cpu="2"))]}, {"containers":
          [c(**amounts(cpu="1", memory="1"))]}),
         ["containers[0].resources.requests: Forbidden: resource requests cannot be removed"]),
        (lambda: of_resize({"containers": [c(**amounts(cpu="2"), stdin=True)]},
          {"containers": [c(**amounts(cpu="1"))]}),
         ["spec: Forbidden: only cpu and memory resources are mutable"]),
        (lambda: of_resize({"containers": [c("d"), c()]}, {"containers": [c(), c("d")]}),
         ["containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
          "containers[1].name: Forbidden: containers may not be renamed or reordered on resize"]),
        (lambda: of_resize({"containers": [c(), c("d")], "initContainers": [c("i")]},
          {"containers": [c()]}),
         ["containers: Forbidden: containers may not be added or removed on resize",
          "initContainers: Forbidden: initContainers may not be added or removed on resize"]),
        (lambda: of_resize({"initContainers": [c("i", **amounts(cpu="2"),
          restartPolicy="Always")]}, {"initContainers": [c("i", **amounts(cpu="1"),
          restartPolicy="Always")]}), []),
        (lambda: of_resize({"initContainers": [c("i", **amounts(cpu="2"))]},
          {"initContainers": [c("i", **amounts(cpu="1", memory="1"))]}),
         ["initContainers[0].resources.requests: Forbidden: resource requests cannot be removed"]),
        (lambda: of_resize({"resources": {"requests": {"cpu": "2"}}}, {}), []),
        (lambda: of_resize({}, {"resources": {"limits": {"cpu": "2"}}}),
         ["resources: Forbidden: pod-level resources cannot be removed"]),
        (lambda: of_resize({"resources": {"limits": {"cpu": "2"}}}, {"resources":
          {"limits": {"cpu": "2"}, "requests": {"memory": "1"}}}),
         ["resources.requests: Forbidden: pod-level resource requests cannot be removed"]),
        (lambda: of_resize({"resources": {"requests": {"cpu": "2", "hugepages-2Mi":
          "2Mi"}}}, {"resources": {"requests": {"cpu": "1"}}}),
         ["resources.limits: Required value: Limit must be set for non overcommitable resources",
          "spec: Forbidden: only cpu and memory resources are mutable at pod-level"]),
    ],
)  # fmt: skip
def test_subresources_of_pods(call: Any, expected: list[str]) -> None:
    assert call() == expected


def init(name: str, cpu: str, policy: str, **fields: Any) -> Document:
    resized = [{"resourceName": "cpu", "restartPolicy": policy}]
    return c(name, **amounts(cpu=cpu), resizePolicy=resized, **fields)


@pytest.mark.parametrize(
    ("containers", "refused"),
    [
        ([("RestartContainer", "2", {})], ["initContainers[0]"]),
        ([("NotRequired", "2", {})], []),
        ([("RestartContainer", "1", {})], []),
        ([("RestartContainer", "2", {"restartPolicy": "Always"})], []),
        ([("RestartContainer", "1", {}), ("RestartContainer", "2", {})], ["initContainers[1]"]),
    ],
)
def test_an_init_container_that_would_restart_is_not_resized(
    containers: list[tuple[str, str, Document]], refused: list[str]
) -> None:
    new, old = (
        [
            init(f"i{index}", now if is_new else "1", policy, **fields)
            for index, (policy, now, fields) in enumerate(containers)
        ]
        for is_new in (True, False)
    )
    found = of_resize({"initContainers": new}, {"initContainers": old})
    # A new pod with such a policy is refused, too.
    resized = [line for line in found if line.endswith("cannot be resized")]
    assert [line.partition(": ")[0] for line in resized] == refused


@pytest.mark.parametrize(
    ("statuses", "is_resizable"),
    [
        ([{"state": {"running": {}}, "resources": {}}], True),
        ([{"state": {"running": {}}}], False),
        ([{"state": {"waiting": {}}}], True),
        ([{}], True),
        ([{"state": {"waiting": {}}}, {"state": {"running": {}}}], False),
        ([{"state": {"running": {}}, "resources": {}}, {"state": {"running": {}}}], True),
    ],
)
def test_the_first_running_container_says_whether_a_node_resizes(
    statuses: list[Document], is_resizable: bool
) -> None:
    new, old = (pod({"containers": [c(**amounts(cpu=each))]}) for each in ("2", "1"))
    old["status"] = {"containerStatuses": statuses}
    found = lines(resize_problems(new, old, qos_class="Burstable"))
    assert ("spec: Forbidden: Pod running on node without support for resize" not in found) is (
        is_resizable
    )
