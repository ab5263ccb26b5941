"""`podwright up`: the options that name what the cluster contains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from podwright.cli.option_groups import OptionGroup
from podwright.cli.options import reject_idle

if TYPE_CHECKING:
    from podwright.cli.clusters.cluster_options import SelectionOptions
    from podwright.cli.serving.up_sync import Filling, ReplayPace


@dataclass(frozen=True, kw_only=True)
class InputOptions(OptionGroup):
    """What the cluster contains at the start, and what is applied while it runs."""

    heading: ClassVar[str] = "Input"

    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Manifests, dumps or snapshots of the initial objects; folders of them; - for "
            "stdin.",
            show_default=False,
        ),
    ] = None
    snapshot: Annotated[
        Path | None,
        typer.Option(
            "--snapshot",
            metavar="FILE",
            help="A snapshot of the initial objects, of kube-scheduler-simulator or podwright.",
        ),
    ] = None
    events: Annotated[
        list[Path] | None,
        typer.Option(
            "--events",
            "-e",
            metavar="FILE",
            help="Events to apply while the cluster runs, as for simulate: a record of changes, "
            'or lines such as {"at": "10m", "drain": "node-1"}. Repeatable.',
        ),
    ] = None
    images: Annotated[
        list[Path] | None,
        typer.Option(
            "--images",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="What containers do by their images, for simulated kubelets: how long they run, "
            "their exit codes, errors of pulls. Repeatable; the first entry that matches applies.",
            show_default=False,
        ),
    ] = None
    imported: Annotated[
        str,
        typer.Option(
            "--import",
            metavar="CLUSTER",
            help="Read the initial objects of another cluster, as podwright import: cluster:, that "
            "of the current context; cluster:CONTEXT; an address that needs no credentials; or a "
            "kubeconfig.",
            show_default=False,
        ),
    ] = ""
    sync: Annotated[
        str,
        typer.Option(
            "--sync",
            metavar="CLUSTER",
            help="Follow another cluster, named as for --import: its changes are mirrored, and new "
            "pods are scheduled here, as with podwright sync.",
            show_default=False,
        ),
    ] = ""
    sync_policy: Annotated[
        list[str] | None,
        typer.Option(
            "--sync-policy",
            metavar="POLICY",
            help="With --sync: an option of podwright sync, such as bound=none, pod-status, "
            "follow-labels or exclude-running. Repeatable.",
            show_default=False,
        ),
    ] = None
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Apply a record of changes while the cluster runs, as podwright replay; --speed "
            "is its pace.",
            show_default=False,
        ),
    ] = None
    immediate: Annotated[
        bool,
        typer.Option(
            "--immediate",
            help="With --replay: apply one change after the other, without waiting.",
        ),
    ] = False
    step: Annotated[
        bool,
        typer.Option(
            "--step",
            help="With --replay: print each change, and apply it when a line is entered.",
        ),
    ] = False
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Create an example cluster with a pending pod."),
    ] = False
    nodes: Annotated[
        int,
        typer.Option("--nodes", metavar="NUMBER", min=0, help="Create this many equal nodes."),
    ] = 0

    default_storage_class: Annotated[
        bool,
        typer.Option(
            "--default-storage-class/--no-default-storage-class",
            help="Create the default StorageClass `standard`, unless the files have classes.",
        ),
    ] = True

    def names(self) -> tuple[str, ...]:
        """Return the names of what is read at the start, as `read_inputs` takes them."""
        from podwright.cli.serving.up_inputs import DEMO

        return (
            *(self.files or ()),
            *(() if self.snapshot is None else (str(self.snapshot),)),
            *((DEMO,) if self.demo else ()),
        )

    def check_images(self, *, is_bare: bool, has_lifecycle: bool) -> None:
        """Reject --images without simulated kubelets.

        Raises
        ------
        BadParameter
        """
        if self.images and (is_bare or not has_lifecycle):
            reason = f"with --{'bare' if is_bare else 'no-lifecycle'}"
            reject_idle("--images", reason, "no kubelet is simulated")

    def filling(self, selection: SelectionOptions, *, is_shadow: bool) -> Filling:
        """Return what fills the cluster from another one, or from a record; it has one source.

        Parameters
        ----------
        selection : SelectionOptions
            Which objects of the other cluster.
        is_shadow : bool
            Whether the decisions of its scheduler are compared.

        Raises
        ------
        BadParameter
            If an option has no effect, or contradicts another one.
        """
        from podwright.cli.serving.up_sync import Filling, read_policies

        pace = self._pace()
        if self.sync_policy and not self.sync:
            reject_idle("--sync-policy", "without --sync", "no cluster is followed")
        if self.sync and self.imported:
            reject_idle("--import", "with --sync", "the objects are read anyway")
        if self.sync and self.replay is not None:
            raise typer.BadParameter("cannot be combined with --sync.", param_hint="'--replay'")
        if (option := selection.given()) and not self.sync and not self.imported:
            reject_idle(option, "without --import or --sync", "no other cluster is read")
        for name, option in ((self.imported, "--import"), (self.sync, "--sync")):
            is_named = name.startswith("cluster:") or "://" in name
            if name and not is_named and not Path(name).is_file():
                raise typer.BadParameter(
                    f'"{name}" must be cluster:, cluster:CONTEXT, an address such as '
                    "http://127.0.0.1:8001 or a kubeconfig.",
                    param_hint=f"'{option}'",
                )
        # What is compared is the source's choice, in the source's state.
        implied = ("bound=source", "pod-status") if is_shadow and self.sync else ()
        policies = read_policies((*implied, *(self.sync_policy or ())))
        return Filling(
            imported=self.imported,
            source=self.sync,
            selection=selection,
            policies=policies,
            replay=self.replay,
            pace=pace,
        )

    def _pace(self) -> ReplayPace:
        """Return what the changes of a record wait for."""
        from podwright.cli.serving.up_sync import ReplayPace

        for is_given, option in ((self.immediate, "--immediate"), (self.step, "--step")):
            if is_given and self.replay is None:
                reject_idle(option, "without --replay", "no record is applied")
        if self.immediate and self.step:
            raise typer.BadParameter("cannot be combined with --step.", param_hint="'--immediate'")
        if self.step and "-" in (self.files or ()):
            raise typer.BadParameter(
                "cannot be combined with a file from stdin.", param_hint="'--step'"
            )
        if self.step:
            return ReplayPace.steps
        return ReplayPace.immediate if self.immediate else ReplayPace.recorded
