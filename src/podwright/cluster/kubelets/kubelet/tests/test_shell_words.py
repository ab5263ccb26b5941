"""Patterns, arithmetic, words and the syntax of the shell, and the values that pods refer to."""

from __future__ import annotations

import re
from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets.kubelet.references import (
    contents_of,
    data_of,
    environment_error,
    field_of,
    resource_of,
    used_volumes,
    volume_errors,
)
from podwright.cluster.kubelets.kubelet.shell import NotSimulatedError
from podwright.cluster.kubelets.kubelet.shell.arithmetic import evaluate
from podwright.cluster.kubelets.kubelet.shell.expansion import has_pattern, pattern_of
from podwright.cluster.kubelets.kubelet.tests.shell_runs import MemoryFiles, facts, refusal, result


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ([("a*", False)], ["a", "ab", "a\n"], ["ba", ""]),
        ([("a*", True)], ["a*"], ["ab"]),
        ([("a?c", False)], ["abc", "a\nc"], ["ac", "abbc"]),
        ([("[ab]", False)], ["a", "b"], ["c", "[ab]"]),
        ([("a_b.c+d^e$(f){g}|h", False)], ["a_b.c+d^e$(f){g}|h"], ["axb.c+d^e$(f){g}|h", "h"]),
        ([("[", False), ("[", True), ("]", False)], ["["], ["a", "[[]"]),
        ([("[", False), ("\\", True), ("]", False)], ["\\"], ["a"]),
        ([("[a^]", False)], ["a", "^"], ["b"]),
        ([("[a-]", False)], ["a", "-"], ["b"]),
        ([("[!ab]", False)], ["c", "!"], ["a", "b"]),
        ([("[^ab]", False)], ["c", "^"], ["a"]),
        ([("[", False), ("!", True), ("a]", False)], ["!", "a"], ["b"]),
        ([("[", False), ("^", True), ("a]", False)], ["^", "a"], ["b"]),
        ([("[]a]", False)], ["]", "a"], ["b"]),
        ([("[!]a]", False)], ["b"], ["]", "a"]),
        ([("[a-c]", False)], ["a", "b", "c"], ["d", "-"]),
        ([("[ab]c[de]", False)], ["acd", "bce"], ["ac", "acde", "a"]),
        ([("[a", False), ("-", True), ("c]", False)], ["a", "-", "c"], ["b"]),
        ([("[ab", False)], ["[ab"], ["a"]),
        ([("a.b", False)], ["a.b"], ["axb"]),
        ([("\\", True), ("*", False)], ["\\", "\\x"], ["x"]),
    ],
)
def test_patterns(pattern, matching, others):
    found = pattern_of(pattern)
    assert [text for text in (*matching, *others) if found.fullmatch(text)] == matching


def test_what_is_a_pattern():
    for text, expected in (("a*", True), ("a?", True), ("[a]", True), ("[a", False), ("]a[", False),
                           ("a", False)):  # fmt: skip
        assert has_pattern([(text, False)]) is expected
        assert not has_pattern([(text, True)])
    for pattern in ("a\\", "[[:alpha:]]", "[z-a]"):
        with pytest.raises(NotSimulatedError):
            pattern_of([(pattern, False)])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 >= 1", 1), ("1 >= 2", 0), ("2 > 2", 0), ("3 > 2", 1), ("1 <= 1", 1), ("2 <= 1", 0),
        ("1 < 1", 0), ("0 < 1", 1), ("1 == 1", 1), ("1 != 1", 0), ("1 << 3", 8), ("17 >> 2", 4),
        ("1 << 64", 1), ("7 & 3", 3), ("4 | 1", 5), ("6 ^ 3", 5), ("0 && 1", 0), ("2 && 3", 1),
        ("0 || 0", 0), ("0 || 2", 1), ("1 ? 2 : 3", 2), ("0 ? 2 : 1 ? 4 : 5", 4), ("-7 / 2", -3),
        ("-7 / -1", 7), ("7 / -1", -7), ("-6 / 1", -6), ("-7 % -1", 0), ("-7 / -2", 3),
        ("-7 % 2", -1), ("7 % -2", 1), ("2 + 3 * 4", 14), ("(2 + 3) * 4", 20), ("10 - 2 - 3", 5),
        ("!0", 1), ("!5", 0), ("~0", -1), ("- 3", -3), ("+3", 3), ("010", 8), ("0x1F", 31),
        ("x", 7), ("y + 1", 1), ("x * x", 49), ("9223372036854775807 + 1", -(1 << 63)),
        ("-9223372036854775807 - 2", (1 << 63) - 1), ("o", 8),
    ],
)  # fmt: skip
def test_arithmetic(text, value):
    assert evaluate(text, lambda name: {"x": "7", "o": "010"}.get(name, "")) == value


def test_arithmetic_that_is_not_simulated():
    for text in (
        "9223372036854775808",
        "",
        "1 +",
        "1 2",
        "(1",
        "1 ? 2",
        "x = 1",
        "08",
        "a.b",
        "1 $ 2",
        "z",
        "1++",
    ):
        with pytest.raises(NotSimulatedError, match=re.escape(f"$(({text}))")):
            evaluate(text, lambda name: "no number" if name == "z" else "")
    with pytest.raises(NotSimulatedError, match="a division by zero"):
        evaluate("1 / 0", lambda _: "")


WORDS = [
    ('set -- a b c; IFS=; echo "$*"', 0, "abc\n"), ('set -- a b; IFS=-; echo "$*"', 0, "a-b\n"),
    ('set -- a b; IFS="-+"; echo "$*"', 0, "a-b\n"),
    ('set -- a b; unset IFS; echo "$*"', 0, "a b\n"),
    ('set -- "a b" c; for x in "$@"; do echo "<$x>"; done', 0, "<a b>\n<c>\n"),
    ('set -- "a b" c; for x in $@; do echo "<$x>"; done', 0, "<a>\n<b>\n<c>\n"),
    ('set --; echo "<$*>" "$@"', 0, "<>\n"), ('x="a  b "; echo "<"$x">"', 0, "<a b >\n"),
    ('x=" a"; echo "<"$x">"', 0, "< a>\n"), ("echo a\\\nb", 0, "ab\n"),
    ("echo `echo \\`echo a\\``", 0, "a\n"), ('echo "`echo \\"a\\"`"', 0, "a\n"),
    ("x='$y'; y=`echo '\\$x'`; echo $y", 0, "$x\n"), ("echo \"a\\$b\\\"\"", 0, "a$b\"\n"),
    ("echo '#a' a#b # c", 0, "#a a#b\n"), ("x=${none:-a b}; echo \"$x\"", 0, "a b\n"),
    ('echo "${none:-a  b}"', 0, "a  b\n"), ("x=abcabc; echo ${x#*b} ${x##*b} ${x%b*} ${x%%b*}", 0,
     "cabc c abca a\n"), ("x=a; echo ${#x} ${#none}", 0, "1 0\n"), ("echo ${x:=5}; echo $x", 0,
     "5\n5\n"), ("{ echo a; }; (echo b)", 0, "a\nb\n"), ("! false; echo $?; ! true; echo $?", 0,
     "0\n1\n"), ("true && false || echo c", 0, "c\n"), ("if true; then :; else echo a; fi", 0, ""),
    ("while false; do echo a; done; echo $?", 0, "0\n"), ("until true; do echo a; done", 0, ""),
    ("case a in [!b]) echo n;; esac", 0, "n\n"), ("case '*' in '*') echo s;; *) echo o;; esac", 0,
     "s\n"), ("case x in a) ;; (x|y) echo z;; esac", 0, "z\n"),
    ("cat <<EOF\n\\$x \\\\ \\a\nEOF", 0, "$x \\ \\a\n"), ("echo $((1 + $(echo 2)))", 0, "3\n"),
    ("echo a >f; cat <f; echo b >>f; cat f", 0, "a\na\nb\n"), ("echo a 2>&1", 0, "a\n"),
    ("f() (exit 3); f; echo $?", 0, "3\n"), ("echo $0 ${1:-none} $#", 0, "sh none 0\n"),
]  # fmt: skip


def test_words_are_expanded_as_posix_says():
    for script, status, output in WORDS:
        assert result(script) == (status, output), script


def test_syntax_that_is_wrong_names_its_line():
    for script, what in (
        ("echo a\nif true; fi", "the syntax at line 2"), ("f() echo a", "the syntax at line 1"),
        ("{ }", "the syntax"), ("( )", "the syntax"), ("(echo a", "its end"), ("fi", "'fi'"),
        ("echo a | ", "its end"), ("echo 'a", "an unclosed quote"),
        ("echo `a", "an unclosed quote"),
        ("echo $((1", "an unclosed $(("), ("echo ${", "this form of ${"), ("echo a &",
         "a command in the background"), ("echo ${x@}", "this form of ${"),
        ("for 1 in a; do :; done",
         "the syntax"), ("case a in b) ;;", "its end"), ("while true; done", "the syntax"),
        ("echo $'a'", "the quotes $'"), ("cat < ", "its end"),
        ("cat <<EOF", "a here-document without its end"),
    ):  # fmt: skip
        assert what in refusal(script), (script, refusal(script))


def test_names_of_files_are_sorted_and_hidden_ones_are_not_found():
    files = MemoryFiles()
    for name in ("b", "a", ".c", "d.txt"):
        files.write(f"/data/{name}", name)
    for script, output in (
        ("echo *", "a b d.txt\n"), ("echo *.txt", "d.txt\n"), ("echo z*", "z*\n"),
        ("echo '*'", "*\n"), ("echo ?", "a b\n"), ("echo /data/*", "/data/a /data/b /data/d.txt\n"),
        ("set -f; echo *", "*\n"), ("x='*'; echo $x", "a b d.txt\n"), ('x="*"; echo "$x"', "*\n"),
    ):  # fmt: skip
        assert result(script, facts(files=files)) == (0, output), script


# ----------------------------------------------------------------- what pods refer to


def of_kind(kind: str, **parts: Any) -> Any:
    metadata = {"name": "a", "namespace": "d"}
    return decode({"apiVersion": "v1", "kind": kind, "metadata": metadata, **parts})


def test_files_of_a_projected_volume_are_known_by_their_paths_only():
    sources = [
        {"serviceAccountToken": {}},
        {"clusterTrustBundle": {"name": "b", "path": "ca.pem"}},
        {"podCertificate": {"signerName": "x", "credentialBundlePath": "c.pem"}},
    ]
    volume = {"name": "v", "projected": {"sources": sources}}
    assert contents_of(volume, POD, None, {}) == {"token": None, "ca.pem": None}


def test_the_data_of_an_object_are_texts_or_unknown():
    values = {"a": "dGV4dA==", "b": "/w==", "c": "x"}
    assert data_of(of_kind("ConfigMap", data={"k": "v"}, binaryData=values | {"c": "YQ=="})) == {
        "k": "v", "a": "text", "b": None, "c": "a",
    }  # fmt: skip
    assert data_of(of_kind("Secret", data={"a": "dGV4dA==", "b": "/w=="})) == {
        "a": "text",
        "b": None,
    }
    assert data_of(of_kind("ConfigMap")) == {}


POD: dict[str, Any] = {
    "metadata": {"name": "p", "labels": {"b": "2", "a": '1"'}, "annotations": {"x/y": "z"}},
    "spec": {"nodeName": "n", "containers": [
        {"name": "c", "resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}}},
        {"name": "d", "resources": {"requests": {"cpu": "250m"}}},
    ]},
    "status": {"podIP": "1.2.3.4"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "p"), ("metadata.labels['b']", "2"), ("metadata.labels['none']", ""),
        ("metadata.annotations['x/y']", "z"), ("metadata.labels", 'a="1\\""\nb="2"'),
        ("metadata.annotations", 'x/y="z"'), ("spec.nodeName", "n"), ("status.podIP", "1.2.3.4"),
        ("status.hostIP", "9.9.9.9"), ("status.none.further", None), ("spec.containers", None),
    ],
)  # fmt: skip
def test_fields_of_a_pod(path, value):
    assert field_of(POD, path, {"status.hostIP": "9.9.9.9"}) == value


def test_all_annotations_are_quoted_as_by_go():
    # Upstream: pkg/fieldpath/fieldpath.go, `FormatMap`
    pod = {"metadata": {"annotations": {"owner": "J\u00fcrgen", "c": "\a\x01\t\\"}}}
    expected = 'c="\\a\\x01\\t\\\\"\nowner="J\u00fcrgen"'
    assert field_of(pod, "metadata.annotations", {}) == expected


@pytest.mark.parametrize("path", ["metadata.labels", "metadata.annotations['x']"])
def test_labels_and_annotations_that_a_pod_does_not_have_are_empty(path):
    assert field_of({"metadata": {"name": "p"}}, path, {}) == ""


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ({"resource": "limits.cpu"}, "2"), ({"resource": "limits.cpu", "divisor": "1m"}, "1500"),
        ({"resource": "limits.memory", "divisor": "1Mi"}, "1024"),
        ({"resource": "limits.cpu", "divisor": "0"}, "2"),
        ({"resource": "limits.cpu", "divisor": "0m"}, "2"),
        ({"resource": "limits.cpu", "divisor": 1}, "2"), ({"resource": "requests.cpu"}, None),
        ({"resource": "requests.cpu", "containerName": "d", "divisor": "1m"}, "250"),
        ({"resource": "limits.cpu", "containerName": "none"}, "2"), ({}, None),
    ],
)  # fmt: skip
def test_resources_of_a_container(reference, value):
    assert resource_of(POD, POD["spec"]["containers"][0], reference) == value


def test_only_volumes_that_a_container_mounts_are_used():
    spec = {
        "volumes": [{"name": name} for name in "abcd"],
        "initContainers": [{"name": "i", "volumeMounts": [{"name": "a"}]}],
        "containers": [{"name": "c", "volumeDevices": [{"name": "c"}]}],
    }
    assert [one["name"] for one in used_volumes({"spec": spec})] == ["a", "c"]
    assert list(used_volumes({})) == []


class Reader:
    """Has the ConfigMap and the Secret d/a."""

    def get(self, kind: Any, key: str) -> Any:
        return of_kind(kind[1], data={"k": "dg=="}) if key == "d/a" else None


def test_all_errors_of_a_volume_are_reported_and_those_of_later_volumes():
    def config(name: str, **more: Any) -> dict[str, Any]:
        return {"configMap": {"name": name, **more}}

    keys = [{"key": "k", "path": "k"}, {"key": "x", "path": "x"}, {"key": "y", "path": "y"}]
    sources = [
        config("z", optional=True), config("b"), {"secret": {"name": "c"}},
        config("a", items=keys),
    ]  # fmt: skip
    volumes = [
        {"name": "v", "projected": {"sources": sources}}, {"name": "w", **config("a")},
        {"name": "x", **config("d")},
    ]  # fmt: skip
    mounts = [{"name": each["name"], "mountPath": "/"} for each in volumes]
    spec = {"volumes": volumes, "containers": [{"name": "c", "volumeMounts": mounts}]}
    errors = dict(volume_errors({"metadata": {"namespace": "d"}, "spec": spec}, Reader()))
    assert errors == {
        "v": '[configmap "b" not found, secret "c" not found, configmap references non-existent'
        " config key: x]",
        "x": 'configmap "d" not found',
    }


@pytest.mark.parametrize(
    ("container", "error"),
    [
        ({}, None), ({"envFrom": [{"configMapRef": {"name": "a"}}]}, None),
        ({"envFrom": [{"configMapRef": {"name": "b"}}]}, 'configmap "b" not found'),
        ({"envFrom": [{"secretRef": {"name": "b"}}]}, 'secret "b" not found'),
        ({"envFrom": [{"secretRef": {"name": "b", "optional": True}}]}, None),
        ({"env": [{"valueFrom": {"secretKeyRef": {"name": "a", "key": "k"}}}]}, None),
        ({"env": [{"valueFrom": {"secretKeyRef": {"name": "a", "key": "x"}}}]},
         "couldn't find key x in Secret d/a"),
        ({"env": [{"valueFrom": {"configMapKeyRef": {"name": "b", "key": "x"}}}]},
         'configmap "b" not found'),
        ({"env": [{"valueFrom": {"configMapKeyRef": {"name": "b", "optional": True}}}]}, None),
        ({"env": [{"value": "x"}]}, None),
    ],
)  # fmt: skip
def test_environments_that_cannot_be_made(container, error):
    assert environment_error(container, "d", Reader()) == error
