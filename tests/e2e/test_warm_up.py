"""`podwright warm-up` compiles all kernels that a decision may call."""

import os
import subprocess
import sys

import pytest

# In a separate process, because other tests compile kernels in this one.
UNUSED = """
import importlib, pkgutil
import podwright.kernels
from numba.core.dispatcher import Dispatcher
from podwright.cli.warm_up_run import warm_up

warm_up()
for found in pkgutil.iter_modules(podwright.kernels.__path__, "podwright.kernels."):
    if found.ispkg:
        continue
    module = importlib.import_module(found.name)
    for name, value in vars(module).items():
        if isinstance(value, Dispatcher) and value.__module__ == found.name:
            if not value.signatures:
                print(f"{found.name}.{name}")
"""


@pytest.mark.slow
def test_every_kernel_is_compiled_by_warming_up(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(
        [sys.executable, "-c", UNUSED], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
