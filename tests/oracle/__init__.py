"""A slow, simple judge: one scheduling decision of kube-scheduler 1.36 from the rules.

The oracle reads Kubernetes documents as plain dictionaries and imports nothing of podwright,
so that a mistake made there is not repeated here. One module per plugin; every rule names the
upstream file it states. `evaluate` takes a case of the golden vectors (vectors/FORMAT.md) and
returns its `expect`.

Start reading in `cycle`, which runs the extension points in order; `plugin` is the contract
between the cycle and the plugins, `cluster` what both of them see.
"""

from tests.oracle.cycle import evaluate

__all__ = ["evaluate"]
