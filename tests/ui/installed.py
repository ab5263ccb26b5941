"""Podwright installed from its wheel, in an environment beside the one of the tests."""

import atexit
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_KERNELS = ROOT / "src" / "podwright" / "scheduler" / "kernels" / "__pycache__"


@cache
def installed_command():
    """Build the wheel and install it; return the command `podwright` of the installation.

    The libraries are those of the tests. The installation has no sources of the repository, so
    what the wheel does not have is missing.
    """
    folder = Path(tempfile.mkdtemp(prefix="podwright-wheel-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    built = folder / "dist"
    build = [str(Path(sys.executable).with_name("hatchling")), "build", "--target", "wheel"]
    _run([*build, "--directory", str(built)])
    environment = folder / "environment"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    [wheel] = built.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    _run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)])
    site_packages = next((environment / "lib").glob("python*/site-packages"))
    # A path in such a file is searched, but its own files of this kind are not read: those have
    # the sources of the repository.
    libraries = sysconfig.get_paths()["purelib"]
    (site_packages / "libraries.pth").write_text(f"{libraries}\n")
    return environment / "bin" / "podwright"


def installed_environment():
    """Return the environment variables: the compiled kernels are those of the repository."""
    return os.environ | {"NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", str(_KERNELS))}


def _run(command):
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
