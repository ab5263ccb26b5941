"""The build hook of a wheel with compiled modules; see `compiled.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledWheel(BuildHookInterface):  # type: ignore[type-arg]  # of any configuration
    """Adds the compiled modules, and names the wheel after this Python and platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say what the wheel is."""
        del version
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["artifacts"].append("src/podwright/**/*.so")
        # What all of them share stands beside the package.
        for module in self.shared_modules():
            build_data["force_include"][f"src/{module}"] = module

    def shared_modules(self) -> list[str]:
        """Return the names of the modules in `src` itself."""
        return sorted(path.name for path in Path(self.root, "src").glob("*.so"))
