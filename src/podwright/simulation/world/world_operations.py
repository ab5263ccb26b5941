"""Execution of the operations of users: those of the present time, and inputs one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from podwright.apimachinery.objects import ArgumentError, Node, parse_label_selector, quoted
from podwright.cluster.controllers import DrainNode, NodeDown, NodeEvent, NodeUp
from podwright.simulation.world.clock import Turn
from podwright.simulation.world.inputs.operation_requests import request_of
from podwright.simulation.world.inputs.operations import (
    ON_NODE,
    Drain,
    FailNode,
    InputOperation,
    OnNodes,
    Operation,
    RestoreNode,
)
from podwright.simulation.world.observers import NodeEventObserver, Observer
from podwright.simulation.world.world_components import WorldComponents
from podwright.simulation.world.world_rounds import WorldRounds


class WorldOperations:
    """Executes operations on a world, and takes those that are inputs when they are due.

    Parameters
    ----------
    components : WorldComponents
    rounds : WorldRounds
        Delivers the events of nodes.
    observers : tuple of Observer
        Those of node events receive them.

    Attributes
    ----------
    inputs : iterator of (int, Operation)
        The inputs that are not taken yet; to read.
    inputs_taken : int
        The number of inputs taken so far.
    """

    def __init__(
        self, components: WorldComponents, rounds: WorldRounds, observers: tuple[Observer, ...]
    ) -> None:
        self._store = components.store
        self._api = components.api
        self._heap = components.heap
        self._rounds = rounds
        self._node_observers = [e for e in observers if isinstance(e, NodeEventObserver)]
        self._operate_input: Callable[[Operation], None] = self.operate
        self.inputs: Iterator[tuple[int, Operation]] = components.inputs
        self.inputs_taken = components.inputs_taken

    def operate(self, operation: Operation) -> None:
        """Execute an operation now; its consequences are pending then."""
        match operation:
            case Drain(node):
                self._dispatch_node_event(DrainNode(node))
            case FailNode(node):
                self._dispatch_node_event(NodeDown(node))
            case RestoreNode(node):
                self._dispatch_node_event(NodeUp(node))
            case OnNodes(name, selector):
                for node in self._matching(selector):
                    self.operate(ON_NODE[name](node))
            case _:
                request = request_of(self._store, operation)
                if request is not None:
                    reply = self._api.handle(request, request.user, self._heap.now_ns)
                    reply.raise_for_error()

    def _matching(self, selector: str) -> list[str]:
        """Return the nodes whose labels match, in order of names; at least one."""
        matches = parse_label_selector(selector).matches
        nodes = self._store.list(Node).objects
        found = [each.name for each in nodes if matches(each.metadata.labels)]
        if not found:
            raise ArgumentError(f"selector {quoted(selector)} matches none of {len(nodes)} nodes")
        return found

    def _dispatch_node_event(self, event: NodeEvent) -> None:
        now_ns = self._heap.now_ns
        for observer in self._node_observers:
            observer.node_event(event, now_ns)
        self._rounds.dispatch_node_event(event)

    def add_inputs(
        self,
        inputs: Iterable[tuple[int, Operation]],
        operate: Callable[[Operation], None] | None,
    ) -> None:
        """Add inputs in order of time; see `World.add_inputs`."""
        self.inputs = iter(inputs)
        self._operate_input = operate or self.operate
        self._take_input()

    def operate_input(self, operation: Operation) -> None:
        """Execute the input that is due, and take the next one."""
        self._operate_input(operation)
        self._take_input()

    def _take_input(self) -> None:
        due = next(self.inputs, None)
        if due is not None:
            self.inputs_taken += 1
            self._heap.push(due[0], Turn.INPUT, InputOperation(due[1]))
