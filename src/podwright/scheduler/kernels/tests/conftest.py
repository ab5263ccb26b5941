"""The tests of kernels run compiled ones; `tests/kernel_defects.py` runs them as plain Python."""

from podwright.scheduler.kernels._jit import compile_all

compile_all()
