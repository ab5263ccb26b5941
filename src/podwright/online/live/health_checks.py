"""The health checks of the scheduler, and how their results are written.

Upstream: cmd/kube-scheduler/app/server.go, `Run`;
staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

import msgspec


class Check(msgspec.Struct, frozen=True):
    """A check: its name, and what returns whether it passes."""

    name: str
    passes: Callable[[], bool]


class Observe(Protocol):
    """Receives the name of a check, that of its endpoint without the slash, and the result."""

    def __call__(self, name: str, endpoint: str, *, passes: bool) -> None:
        """Take the result of a check."""


def health_checks(
    is_listed: Callable[[], bool],
    is_stopping: Callable[[], bool],
    is_renewed: Callable[[], bool] | None,
) -> Mapping[str, Sequence[Check]]:
    """Return the checks of each endpoint, by its path.

    Parameters
    ----------
    is_listed : callable
        Whether all objects of the cluster were listed.
    is_stopping : callable
        Whether the process is about to end.
    is_renewed : callable, optional
        Whether the Lease is renewed by a leader; None without an election.
    """
    ping = Check("ping", lambda: True)
    election = () if is_renewed is None else (Check("leaderElection", is_renewed),)
    return {
        "/healthz": election or (ping,),
        "/livez": (ping,),
        "/readyz": (
            *election,
            Check("shutdown", lambda: not is_stopping()),
            Check("sched-handler-sync", is_listed),
        ),
    }


def health_text(
    path: str,
    checks: Sequence[Check],
    *,
    excluded: Collection[str] = (),
    is_verbose: bool = False,
    observe: Observe | None = None,
) -> tuple[bool, str]:
    """Return whether all checks pass, and the text of the reply.

    Parameters
    ----------
    path : str
        Of the endpoint, such as `/readyz`.
    checks : sequence of Check
    excluded : collection of str
        The names of checks that are not made.
    is_verbose : bool
        Whether the results are listed though all checks pass.
    observe : callable, optional
        Receives the result of each check that is made.
    """
    name = path.removeprefix("/")
    lines, failed = [], False
    for check in checks:
        if check.name in excluded:
            lines.append(f"[+]{check.name} excluded: ok\n")
            continue
        passes = check.passes()
        if observe is not None:
            observe(check.name, name, passes=passes)
        if passes:
            lines.append(f"[+]{check.name} ok\n")
        else:
            failed = True
            lines.append(f"[-]{check.name} failed: reason withheld\n")
    unknown = sorted(set(excluded) - {check.name for check in checks})
    if unknown:
        names = ", ".join(f'"{each}"' for each in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
    if failed:
        return False, "".join([*lines, f"{name} check failed\n"])
    return True, "".join([*lines, f"{name} check passed\n"]) if is_verbose else "ok"
