"""A subset of POSIX sh, interpreted without processes.

`interpreter.py` has the entry point: a `Script` is a command line, and its `steps` are a generator
that yields the times that it sleeps and returns its exit status. `parser.py` says what the subset
is, `commands.py` which commands it has; docs/explanation/kubelet.md lists both for users.

The package knows nothing of pods: files, environment and time are given.
"""

from podwright.cluster.kubelets.kubelet.shell.environment import (
    Dialect as Dialect,
    Facts as Facts,
    FileAccessError as FileAccessError,
)
from podwright.cluster.kubelets.kubelet.shell.interpreter import Script as Script
from podwright.cluster.kubelets.kubelet.shell.syntax import NotSimulatedError as NotSimulatedError
