"""Upstream's defaults, a module for each API group or idea.

A kind names its function in `tools/schema/completions.toml`, for example
`defaults = "pods:set_pod_defaults"` for `set_pod_defaults` in `pods.py` of this folder::

    def set_pod_defaults(document: Document) -> Document:
        return document | {"spec": {"restartPolicy": "Always"} | document["spec"]}

The function receives the whole object as JSON, with values of the right types, and returns it with
the defaults of the API server. It must not change its argument: it copies what it changes, and the
result shares the rest. If nothing changes it returns its argument. Setting defaults twice gives
the same object.

Upstream: pkg/apis/*/v1/defaults.go
"""
