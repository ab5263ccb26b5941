"""NodeRestriction and ServiceAccount write by write; messages of noderestriction/admission.go."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from podwright.apimachinery.objects import decode
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.identities.node_restriction import NodeRestriction
from podwright.cluster.api.admission.identities.service_accounts import ServiceAccount
from podwright.cluster.api.admission.tests.contexts import a_context
from podwright.cluster.api.authorization import AlwaysAllow, Decision
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.users import NODES, User

NODE = User("system:node:n1", groups=(NODES,))


class NoOpinion(AlwaysAllow):
    """An authorizer that allows nothing, and keeps what it was called for."""

    def __init__(self):
        self.accesses = []

    def authorize(self, access):
        self.accesses.append(access)
        return Decision(is_allowed=None)


class Objects:
    """The objects of a cluster, to read; a store as plugins use it."""

    seed = 1

    def __init__(self, *documents):
        self._found = {}
        for each in documents:
            obj = decode(each)
            group = obj.api_version.rpartition("/")[0]
            self._found[(group, obj.kind), obj.key] = obj

    def get(self, kind, key):
        return self._found.get((kind, key))


def write(operation, plural, new=None, old=None, *, name="x", sub="", group="", user=NODE):
    resource: Any = SimpleNamespace(group=group, plural=plural, name=plural)
    return Attributes(
        operation=operation, resource=resource, subresource=sub,
        namespace="default", name=name, object=new, old=old, user=user, options={},
        is_dry_run=False, now_ns=0,
    )  # fmt: skip


def refusal(attributes, *objects, authorizer=None):
    """Return why a node may not write, without what all refusals begin with."""
    store: Any = Objects(*objects)
    try:
        NodeRestriction(a_context(store, authorizer=authorizer or AlwaysAllow())).admit(attributes)
    except Rejection as error:
        return error.message.partition(" is forbidden: ")[2] or error.message
    return ""


def pod(name="p", node="n1", uid="pod-uid", **spec):
    metadata = {"name": name, "namespace": "default", "uid": uid}
    containers = [{"name": "c", "image": "i"}]
    spec = {"nodeName": node, "containers": containers, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


# ------------------------------------------------------------------------------------- nodes

SOURCE = {"configMap": {"name": "c"}}
OTHER = {"configMap": {"name": "d"}}
TAINTS = [{"key": "k"}]
OWNED = {"ownerReferences": [{"name": "o"}]}
LABEL = {"k8s.io/a": "1"}


def node(metadata=None, **spec):
    return {"metadata": {"name": "n1", **(metadata or {})}, "spec": spec}


@pytest.mark.parametrize(
    ("new", "old", "problem"),
    [
        pytest.param(node(), None, "", id="a new node"),
        pytest.param(node(configSource=SOURCE), None,
                     'node "n1" is not allowed to create pods with a non-nil configSource',
                     id="a new node with a source"),
        pytest.param(node(taints=[{"key": "k"}]), None, "", id="a new node with taints"),
        pytest.param(node({"labels": {"a": "b", "kubernetes.io/os": "linux"}}), None, "",
                     id="a new node with labels"),
        pytest.param(node({"labels": {"x.k8s.io/b": "", "k8s.io/a": ""}}), None,
                     'node "n1" is not allowed to set the following labels: k8s.io/a, x.k8s.io/b',
                     id="a new node with labels of others"),
        pytest.param(node(), node(), "", id="no change"),
        pytest.param(node(configSource=SOURCE), node(configSource=SOURCE), "", id="same source"),
        pytest.param(node(), node(configSource=SOURCE), "", id="a source less"),
        *(
            pytest.param(node(configSource=SOURCE), node(**before),
                         'node "n1" is not allowed to update configSource to a new non-nil'
                         " configSource", id=f"another source, {len(before)}")
            for before in ({}, {"configSource": OTHER})
        ),
        pytest.param(node(taints=[]), node(), "", id="no taints and none"),
        pytest.param(node(taints=TAINTS), node(taints=TAINTS), "", id="same taints"),
        *(
            pytest.param(node(**after), node(**before), 'node "n1" is not allowed to modify taints',
                         id=f"taints, {len(after)}")
            for after, before in (
                ({"taints": [{"key": "k"}]}, {}), ({}, {"taints": [{"key": "k"}]}),
            )
        ),
        pytest.param(node({"ownerReferences": []}), node(), "", id="no owners and none"),
        *(
            pytest.param(node(after), node(before),
                         'node "n1" is not allowed to modify ownerReferences',
                         id=f"owners, {len(after)}")
            for after, before in (
                (OWNED, {}), ({}, OWNED),
            )
        ),
        *(
            pytest.param(node({"labels": after}), node({"labels": before}),
                         "is not allowed to modify labels: k8s.io/a", id=f"label {after} {before}")
            for after, before in (
                (LABEL, {}), ({}, LABEL), (LABEL, {"k8s.io/a": "2"}),
            )
        ),
        pytest.param(node({"labels": {**LABEL, "b": "2"}}), node({"labels": LABEL}),
                     "", id="a label that stays"),
    ],
)  # fmt: skip
def test_what_a_node_may_say_of_itself(new, old, problem):
    operation = "CREATE" if old is None else "UPDATE"
    assert refusal(write(operation, "nodes", new, old, name="n1")) == problem


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE"])
def test_a_node_does_not_write_others(operation):
    found = refusal(write(operation, "nodes", node(), node(), name="n2"))
    assert found == 'node "n1" is not allowed to modify node "n2"'
    assert refusal(write(operation, "nodes", node(), node(), name="n1")) == ""


@pytest.mark.parametrize(
    ("user", "operation", "problem"),
    [
        (User("system:node:", groups=(NODES,)), "UPDATE",
         'could not determine node from user "system:node:"'),
        (User("system:node:", groups=(NODES,)), "CONNECT", ""),
        (User("alice"), "UPDATE", ""),
        (User("system:node:n2"), "UPDATE", ""),
    ],
)  # fmt: skip
def test_users_that_are_no_nodes_are_not_restricted(user, operation, problem):
    given = write(operation, "nodes", node(), node(), name="n1", user=user)
    assert refusal(given) == problem
    plugin = NodeRestriction(a_context(Objects()))  # type: ignore[arg-type]
    assert plugin.decides_by_template(write("UPDATE", "nodes")) is False
    assert plugin.decides_by_template(write("UPDATE", "nodes", user=User("alice"))) is True
    assert refusal(write("UPDATE", "configmaps", {}, {})) == ""


# ------------------------------------------------------------------------------------ claims


def claim(metadata=None, status=None, **spec):
    return {"metadata": {"name": "x", **(metadata or {})}, "spec": spec, "status": status or {}}


@pytest.mark.parametrize(
    ("new", "is_allowed"),
    [
        (claim(), True),
        *(
            (claim(status={name: "new"}), True)
            for name in (
                "capacity", "conditions", "allocatedResourceStatuses", "allocatedResources",
            )
        ),
        (claim(status={"phase": "Bound"}), False),
        (claim({"resourceVersion": "9", "managedFields": [{}]}), True),
        (claim({"labels": {"a": "b"}}), False),
        (claim(volumeName="v"), False),
    ],
)  # fmt: skip
def test_a_node_writes_the_sizes_of_claims(new, is_allowed):
    found = refusal(write("UPDATE", "persistentvolumeclaims", new, claim(), sub="status"))
    assert (
        found == ""
        if is_allowed
        else found.startswith(
            'node "n1" is not allowed to update fields other than status.quantity'
        )
    )


def test_a_node_writes_nothing_else_of_claims():
    claims = "persistentvolumeclaims"
    assert refusal(write("UPDATE", claims, claim(), claim())) == "may only update PVC status"
    found = refusal(write("CREATE", claims, claim(), sub="status"))
    assert found == 'unexpected operation "CREATE"'


# -------------------------------------------------------------------------------------- pods


def status(of="n1", labels=None, **status):
    metadata = {} if labels is None else {"labels": labels}
    return {"metadata": metadata, "spec": {"nodeName": of}, "status": status}


CLAIMS = [{"name": "c", "resourceClaimName": "x"}]


@pytest.mark.parametrize(
    ("new", "old", "problem"),
    [
        (status(phase="Running"), status(), ""),
        (status(), status("n2"),
         'node "n1" can only update pod status for pods with spec.nodeName set to itself'),
        (status("n2"), status(), ""),
        (status(labels={}), status(), ""),
        (status(labels={"a": "b"}), status(), 'node "n1" cannot update labels through pod status'),
        (status(), status(labels={"a": "b"}), 'node "n1" cannot update labels through pod status'),
        (status(resourceClaimStatuses=[]), status(), ""),
        (status(resourceClaimStatuses=CLAIMS), status(resourceClaimStatuses=CLAIMS), ""),
        (status(resourceClaimStatuses=CLAIMS), status(),
         'node "n1" cannot update resource claim statues'),
        (status(), status(resourceClaimStatuses=CLAIMS),
         'node "n1" cannot update resource claim statues'),
        (status(extendedResourceClaimStatus={"a": 1}), status(extendedResourceClaimStatus={"a": 1}),
         ""),
        (status(extendedResourceClaimStatus={"a": 1}), status(),
         'node "n1" cannot update extended resource claim status'),
        (status(), status(extendedResourceClaimStatus={"a": 1}),
         'node "n1" cannot update extended resource claim status'),
    ],
)  # fmt: skip
def test_what_a_node_may_write_of_the_status_of_a_pod(new, old, problem):
    assert refusal(write("UPDATE", "pods", new, old, sub="status")) == problem


@pytest.mark.parametrize(
    ("operation", "sub", "problem"),
    [
        ("CREATE", "status", 'unexpected operation "CREATE"'),
        ("UPDATE", "eviction", "unexpected operation UPDATE"),
        ("CREATE", "binding",
         'unexpected pod subresource "binding", only \'status\' and \'eviction\' are allowed'),
        ("UPDATE", "",
         'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods'),
    ],
)  # fmt: skip
def test_other_writes_of_pods_are_no_nodes(operation, sub, problem):
    assert refusal(write(operation, "pods", pod(), pod(), sub=sub, name="p"), pod()) == problem


MIRROR = {"kubernetes.io/config.mirror": "x"}
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "node-uid", "controller": True}
NO_MIRROR = (
    'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror'
    " pods"
)
NOT_OWNED = 'node "n1" can only create pods with an owner reference set to itself'


@pytest.mark.parametrize(
    ("annotations", "owners", "spec", "problem"),
    [
        (MIRROR, [OWNER], {}, ""),
        (None, [OWNER], {}, NO_MIRROR),
        ({}, [OWNER], {}, NO_MIRROR),
        (MIRROR, [OWNER], {"node": "n2"},
         'node "n1" can only create pods with spec.nodeName set to itself'),
        (MIRROR, None, {}, NOT_OWNED),
        (MIRROR, [OWNER | {"apiVersion": "v2"}], {}, NOT_OWNED),
        (MIRROR, [OWNER | {"kind": "Pod"}], {}, NOT_OWNED),
        (MIRROR, [OWNER | {"name": "n2"}], {}, NOT_OWNED),
        (MIRROR, [OWNER, OWNER], {},
         'node "n1" can only create pods with a single owner reference set to itself'),
        (MIRROR, [OWNER | {"controller": False}], {},
         'node "n1" can only create pods with a controller owner reference set to itself'),
        (MIRROR, [OWNER | {"blockOwnerDeletion": False}], {}, ""),
        (MIRROR, [OWNER | {"blockOwnerDeletion": True}], {},
         'node "n1" must not set blockOwnerDeletion on an owner reference'),
        (MIRROR, [OWNER | {"uid": "x"}], {}, "node n1 UID mismatch: expected x got node-uid"),
        (MIRROR, [{name: part for name, part in OWNER.items() if name != "uid"}], {},
         "node n1 UID mismatch: expected  got node-uid"),
        (MIRROR, [OWNER], {"imagePullSecrets": [{}]}, ""),
        (MIRROR, [OWNER], {"serviceAccountName": "a"},
         'node "n1" can not create pods that reference serviceaccounts'),
        (MIRROR, [OWNER], {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
         'node "n1" can not create pods that reference secrets'),
    ],
)  # fmt: skip
def test_a_node_creates_mirror_pods_that_it_owns(annotations, owners, spec, problem):
    given = pod(**spec)
    given["metadata"] |= {"annotations": annotations, "ownerReferences": owners}
    own = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "node-uid"}}
    assert refusal(write("CREATE", "pods", given), own) == problem
    if not problem:
        assert refusal(write("CREATE", "pods", given)) == 'node "n1" not found'


def test_an_empty_pod_of_a_node_is_no_mirror_pod():
    assert refusal(write("CREATE", "pods", {})) == NO_MIRROR


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("p", ""),
        ("foreign", 'node "n1" can only delete pods with spec.nodeName set to itself'),
        ("none", 'pod "none" not found'),
    ],
)
def test_a_node_deletes_its_own_pods(name, problem):
    assert refusal(write("DELETE", "pods", name=name), pod(), pod("foreign", "n2")) == problem


@pytest.mark.parametrize(
    ("name", "body", "problem"),
    [
        ("p", {}, ""),
        ("", {"metadata": {"name": "p"}}, ""),
        ("foreign", {"metadata": {"name": "p"}},
         "node n1 can only evict pods with spec.nodeName set to itself"),
        ("none", {}, 'pod "none" not found'),
        ("", {}, "could not determine pod from request data"),
        ("", {"metadata": {}}, "could not determine pod from request data"),
    ],
)  # fmt: skip
def test_a_node_evicts_its_own_pods(name, body, problem):
    given = write("CREATE", "pods", body, sub="eviction", name=name)
    found = refusal(given, pod(), pod("foreign", "n2"))
    assert found == problem


# ------------------------------------------------------------------------------------ tokens


def token(name="p", uid="pod-uid", audiences=None, kind="Pod", api="v1"):
    reference = {"apiVersion": api, "kind": kind, "name": name, "uid": uid}
    spec = {"boundObjectRef": reference}
    return {"spec": spec if audiences is None else spec | {"audiences": audiences}}


def tokens_of(audiences):
    sources = [{"serviceAccountToken": {"path": "t", **each}} for each in audiences]
    return {"volumes": [{"name": "v", "projected": {"sources": sources}}]}


DRIVER = {
    "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "d.io"},
    "spec": {"tokenRequests": [{"audience": "vault"}, {}]},
}  # fmt: skip
BOUND = [
    {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"}, "spec": {"volumeName": "pv"},
    }
    for name in ("data", "p-own")
]  # fmt: skip
VOLUME = {
    "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"},
    "spec": {"csi": {"driver": "d.io", "volumeHandle": "h"}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "audience", "is_allowed"),
    [
        pytest.param(tokens_of([{"audience": "a"}]), ["a"], True, id="of a volume"),
        pytest.param(tokens_of([{"audience": "a"}]), ["b"], False, id="of no volume"),
        pytest.param(tokens_of([{"audience": "a"}]), None, False, id="the default one of none"),
        pytest.param(tokens_of([{}]), None, True, id="the default one"),
        pytest.param(tokens_of([{}]), [], True, id="none is the default one"),
        pytest.param(tokens_of([{"audience": "a"}, {"audience": "b"}]), ["b"], True, id="second"),
        pytest.param({}, ["a"], False, id="no volumes"),
        *(
            pytest.param({"volumes": [{"name": "own", **volume}]}, [audience], is_allowed,
                         id=f"{next(iter(volume))}, {audience}")
            for volume, audience, is_allowed in (
                ({"csi": {"driver": "d.io"}}, "vault", True),
                ({"csi": {"driver": "d.io"}}, "other", False),
                ({"persistentVolumeClaim": {"claimName": "data"}}, "vault", True),
                ({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}, "vault", True),
                ({"emptyDir": {}}, "vault", False),
            )
        ),
    ],
)  # fmt: skip
def test_a_node_requests_tokens_for_the_audiences_of_its_pods(spec, audience, is_allowed):
    given = write("CREATE", "serviceaccounts", token(audiences=audience), sub="token", name="a")
    objects = [pod(**spec), DRIVER, *BOUND, VOLUME]
    found = refusal(given, *objects, authorizer=NoOpinion())
    requested = (audience or [""])[0]
    assert found == ("" if is_allowed else (
        f'audience "{requested}" not found in pod spec volume, system:node:n1 is not authorized to'
        " request tokens for this audience"
    ))  # fmt: skip
    assert refusal(given, *objects) == "", "the authorizer allows all of them"


@pytest.mark.parametrize(
    ("volumes", "problem"),
    [
        ([{"csi": {"driver": "e.io"}}], 'csidriver.storage.k8s.io "e.io" not found'),
        ([{"persistentVolumeClaim": {"claimName": "x"}}], 'persistentvolumeclaim "x" not found'),
        ([{"persistentVolumeClaim": {"claimName": "pending"}}, {"csi": {"driver": "e.io"}}],
         '[persistentvolume "" not found, csidriver.storage.k8s.io "e.io" not found]'),
        ([{"csi": {"driver": "e.io"}}, {"csi": {"driver": "d.io"}}], None),
    ],
)  # fmt: skip
def test_an_object_that_is_missing_behind_a_volume_refuses_the_audiences_of_no_other(
    volumes, problem
):
    given = write("CREATE", "serviceaccounts", token(audiences=["vault"]), sub="token", name="a")
    pending = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
               "metadata": {"name": "pending", "namespace": "default"}, "spec": {}}  # fmt: skip
    expected = f'error validating audience "vault": {problem}' if problem else ""
    assert refusal(given, pod(volumes=volumes), DRIVER, pending) == expected


def test_the_right_to_an_audience_is_one_in_the_namespace_of_the_account():
    authorizer = NoOpinion()
    given = write("CREATE", "serviceaccounts", token(audiences=["x"]), sub="token", name="a")
    refusal(given, pod(), authorizer=authorizer)
    (found,) = authorizer.accesses
    assert (found.user, found.verb, found.resource) == (
        NODE, "request-serviceaccounts-token-audience", "x",
    )  # fmt: skip
    assert (found.group, found.version, found.namespace, found.name) == ("", "v1", "default", "a")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (token(kind="Secret"), "node requested token not bound to a pod"),
        (token(api="v2"), "node requested token not bound to a pod"),
        (token(name=""), "node requested token not bound to a pod"),
        ({"spec": {}}, "node requested token not bound to a pod"),
        (token(uid=""), "node requested token with a pod binding without a uid"),
        (token(uid="other"),
         "the UID in the bound object reference (other) does not match the UID in record."
         " The object might have been deleted and then recreated"),
        (token("foreign"), "node requested token bound to a pod scheduled on a different node"),
        (token(audiences=["a", "b"]), "node may only request 0 or 1 audiences"),
        (token(audiences=["a"]), ""),
    ],
)  # fmt: skip
def test_tokens_are_bound_to_pods_of_the_node(body, problem):
    accounts = "serviceaccounts"
    objects = [pod(), pod("foreign", "n2")]
    assert refusal(write("CREATE", accounts, body, sub="token"), *objects) == problem
    assert refusal(write("UPDATE", accounts, body, sub="token"), *objects) == ""
    assert refusal(write("CREATE", accounts, body), *objects) == ""


# ---------------------------------------------------------------------------- service accounts


def account(name="default", annotations=None, **fields):
    metadata = {"name": name, "namespace": "default", "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, **fields}


def admitted(given, *objects, assumes_default=False, operation="CREATE", sub=""):
    """Return the admitted pod, or why it is rejected."""
    store: Any = Objects(*objects)
    attributes = write(operation, "pods", given, sub=sub, name="p", user=User("alice"))
    try:
        ServiceAccount(a_context(store, assumes_accounts=assumes_default)).admit(attributes)
        ServiceAccount(a_context(store, assumes_accounts=assumes_default)).validate(attributes)
    except Rejection as error:
        return error.message.partition(" is forbidden: ")[2]
    assert attributes.object is not None
    return attributes.object["spec"]


def plain(**spec):
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], **spec}}


@pytest.mark.parametrize(
    ("of_pod", "of_account", "mounts"),
    [
        (None, None, True), (True, False, True), (False, True, False), (None, False, False),
        (None, True, True), (True, None, True), (False, None, False),
    ],
)  # fmt: skip
def test_the_pod_decides_before_its_account_whether_its_token_is_mounted(
    of_pod, of_account, mounts
):
    field = "automountServiceAccountToken"
    pod_fields, account_fields = (
        {} if value is None else {field: value} for value in (of_pod, of_account)
    )
    found = admitted(plain(**pod_fields), account(**account_fields))
    assert bool(found.get("volumes")) is mounts
    assert bool(found["containers"][0].get("volumeMounts")) is mounts


PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def test_the_token_is_mounted_where_nothing_else_is():
    own = {"name": "own", "mountPath": PATH}
    other = {"name": "data", "mountPath": "/data"}
    containers = [{"name": "a", "volumeMounts": [own]}, {"name": "b", "volumeMounts": [other]}]
    found = admitted(plain(containers=containers, initContainers=[{"name": "i"}]), account())
    (volume,) = found["volumes"]
    mount = {"name": volume["name"], "readOnly": True, "mountPath": PATH}
    assert [each["volumeMounts"] for each in found["containers"]] == [[own], [other, mount]]
    assert [each["volumeMounts"] for each in found["initContainers"]] == [[mount]]
    assert volume["projected"] == {
        "defaultMode": 0o644,
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"configMap": {
                "name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {
                "apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
        ],
    }  # fmt: skip
    alone = admitted(plain(containers=containers[:1]), account())
    assert "volumes" not in alone, "no pod mounts it"


def test_the_pods_of_a_template_share_the_name_of_their_volume():
    def name_for(*names, image="i", **spec):
        containers = [{"name": name, "image": image} for name in names]
        (volume,) = admitted(plain(containers=containers, **spec), account())["volumes"]
        return volume["name"]

    first = [{"name": "first"}]
    assert name_for("c") == name_for("c", image="j")
    assert len({name_for("c"), name_for("d"), name_for("c", initContainers=first)}) == 3


def test_a_volume_with_a_token_is_used_and_the_others_stay():
    volumes = [{"name": "data"}, {"name": "kube-api-access-x"}]
    found = admitted(plain(volumes=volumes), account())
    assert found["volumes"] == volumes
    assert found["containers"][0]["volumeMounts"][0]["name"] == "kube-api-access-x"
    found = admitted(plain(volumes=volumes[:1]), account())
    assert [each["name"] for each in found["volumes"][:1]] == ["data"]
    assert len(found["volumes"]) == 2


@pytest.mark.parametrize(
    ("of_pod", "of_account", "expected"),
    [
        (None, [{"name": "a"}, {"name": "b"}], [{"name": "a"}, {"name": "b"}]),
        ([{"name": "own"}], [{"name": "a"}], [{"name": "own"}]),
        (None, None, None),
        (None, [{}], [{"name": ""}]),
    ],
)
def test_the_secrets_for_images_are_those_of_the_account_without_own_ones(
    of_pod, of_account, expected
):
    given = {} if of_pod is None else {"imagePullSecrets": of_pod}
    fields = {} if of_account is None else {"imagePullSecrets": of_account}
    assert admitted(plain(**given), account(**fields)).get("imagePullSecrets") == expected


def test_the_account_is_looked_up_and_the_default_one_may_be_assumed():
    missing = 'error looking up service account default/x: serviceaccount "x" not found'
    assert admitted(plain(serviceAccountName="x"), account(), assumes_default=True) == missing
    assert admitted(plain()) == (
        'error looking up service account default/default: serviceaccount "default" not found'
    )
    assert admitted(plain(), assumes_default=True)["serviceAccountName"] == "default"
    found = admitted(plain(serviceAccountName="a"), account("a"))
    assert (found["serviceAccountName"], found["serviceAccount"]) == ("a", "a")


STRICT = {"kubernetes.io/enforce-mountable-secrets": "true"}
SUFFIX = "is not allowed because service account a does not reference that"


def env(name):
    return {"env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}]}


def env_from(name):
    return {"envFrom": [{"secretRef": {"name": name}}]}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"volumes": [{"name": "v", "secret": {"secretName": "listed"}}]}, ""),
        ({"volumes": [{"name": "v", "emptyDir": {}}]}, ""),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
         f'volume with secret.secretName="s" {SUFFIX} secret'),
        ({"containers": [{"name": "c", **env("listed"), **env_from("listed")}]}, ""),
        ({"containers": [{"name": "c", "env": [{"name": "E", "value": "x"}],
                          "envFrom": [{"configMapRef": {"name": "m"}}]}]}, ""),
        ({"containers": [{"name": "c", **env("s")}]},
         f'container c with envVar E referencing secret.secretName="s" {SUFFIX} secret'),
        ({"containers": [{"name": "c", **env_from("s")}]},
         f'container c with envFrom referencing secret.secretName="s" {SUFFIX} secret'),
        ({"initContainers": [{"name": "i", **env("s")}]},
         f'init container i with envVar E referencing secret.secretName="s" {SUFFIX} secret'),
        ({"imagePullSecrets": [{"name": "pulled"}]}, ""),
        ({"imagePullSecrets": [{"name": "pulled"}, {"name": "listed"}]},
         f'imagePullSecrets[1].name="listed" {SUFFIX} imagePullSecret'),
    ],
)  # fmt: skip
def test_a_strict_account_lists_the_secrets_of_its_pods(spec, problem):
    fields = {"secrets": [{"name": "listed"}], "imagePullSecrets": [{"name": "pulled"}]}
    given = plain(serviceAccountName="a", **spec)
    found = admitted(given, account("a", STRICT, **fields))
    assert found == problem if problem else isinstance(found, dict)
    for value in ("false", "yes", ""):
        annotations = {"kubernetes.io/enforce-mountable-secrets": value}
        assert isinstance(admitted(given, account("a", annotations, **fields)), dict)


def test_an_ephemeral_container_is_checked_when_it_is_added():
    given = plain(
        serviceAccountName="a", ephemeralContainers=[{"name": "e", **env("s")}],
        volumes=[{"name": "v", "secret": {"secretName": "t"}}], imagePullSecrets=[{"name": "u"}],
    )  # fmt: skip
    objects = [account("a", STRICT)]
    how = {"operation": "UPDATE", "sub": "ephemeralcontainers"}
    assert admitted(given, *objects, **how) == (
        f'ephemeral container e with envVar E referencing secret.secretName="s" {SUFFIX} secret'
    )
    given["spec"]["ephemeralContainers"] = []
    assert isinstance(admitted(given, *objects, **how), dict), "the others are there already"
    assert isinstance(admitted(given, *objects, operation="UPDATE"), dict)
    del given["spec"]["serviceAccountName"]
    assert admitted(given, *objects, **how) == "no service account specified for pod default/p"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({}, ""),
        ({"serviceAccountName": "a"}, "a mirror pod may not reference service accounts"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
         "a mirror pod may not reference secrets"),
        ({"containers": [{"name": "c", **env("s")}]}, "a mirror pod may not reference secrets"),
        (tokens_of([{}]), "a mirror pod may not use ServiceAccountToken volume projections"),
        ({"volumes": [{"name": "v", "projected": {"sources": [{"configMap": {}}]}}]}, ""),
        ({"volumes": [{"name": "v", "emptyDir": {}}]}, ""),
    ],
)  # fmt: skip
def test_a_mirror_pod_refers_to_no_account_and_no_secret(spec, problem):
    given = plain(**spec)
    given["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    found = admitted(given)
    assert found == problem if problem else found == given["spec"]
