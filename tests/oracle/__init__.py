"""An independent reference: one scheduling decision of kube-scheduler 1.36 from its rules.

The oracle reads Kubernetes documents as plain dictionaries and imports nothing of podwright, so
that a mistake in podwright is not repeated here. It is slow and simple. Each plugin has one module,
and every rule names its upstream file. `evaluate` takes a case of the golden vectors
(vectors/FORMAT.md) and returns its `expect`.

Start with `cycle`, which runs the extension points in order. `plugin` is the interface between the
cycle and the plugins, and `cluster` is the state that both read.
"""

from tests.oracle.cycle import evaluate

__all__ = ["evaluate"]
