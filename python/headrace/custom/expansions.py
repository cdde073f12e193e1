"""What a Python function gives for a library node, an Sdfg, IR text or another function, as the IR text of an expansion."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any, Mapping, Sequence

from ..errors import InvalidError, UsageError
from ..frontend import creation, elementwise
from ..frontend.calls import back, renamed
from ..frontend.sizes import Size, names_in
from ..frontend.values import broadcast, is_number, show, value_of
from ..function import Function
from ..sdfg import Sdfg
from ..translated import Translation
from ..trees import Tree, leaf_name
from .nodes import Node, NodePort


@dataclasses.dataclass
class Ports:
    """What an expansion may read and what it gives, by the names of its parameters."""

    reads: dict[str, NodePort]
    gives: dict[str, NodePort]
    groups: dict[str, Any]  # lists of ports under one name; None and numbers for what is absent
    unwanted: dict[str, NodePort] = dataclasses.field(default_factory=dict)  # what it may give and nobody takes
    zeros: dict[str, NodePort] = dataclasses.field(default_factory=dict)     # what it may read and is zero
    aliases: dict[str, str] = dataclasses.field(default_factory=dict)        # its names of parameters → ours
    returned: list[str] | None = None                                        # by a function, where it is more than `gives`


def ports_of(node: Node) -> Ports:
    """Of the node's implementations."""
    groups = {name: p for name, p in {**node.inputs, **node.outputs}.items() if p is None or isinstance(p, list)}
    return Ports(node.input_ports(), node.output_ports(), groups)


def text_of(node: Node, made: Any, ports: Ports) -> str:
    """`made` is an Sdfg, IR text, an annotated @headrace.program, or a numpy-style function of ports and attributes."""
    if isinstance(made, str):
        return _of_text(node, made, ports)
    if isinstance(made, Function):
        made = made.sdfg if made._declared and all(d is not None for d in made._declared.values()) else made.base
    if isinstance(made, Sdfg):
        return _called(node, made, ports)
    if inspect.isfunction(made):
        return _of_function(node, made, ports)
    raise TypeError(f"an expansion of {node.op} is an Sdfg, IR text or a function, not {type(made).__name__}")


# ---- programs ----
def _of_text(node: Node, text: str, ports: Ports) -> str:
    """Text that is a program by itself has sizes of its own; other text speaks of the node's."""
    try:
        program = Sdfg.parse(text, f"<expansion of {node.op}>")
    except InvalidError:
        return text  # whoever reads it as an expansion says what is wrong
    return _called(node, program, ports)


def _called(node: Node, program: Sdfg, ports: Ports) -> str:
    parameters = {ports.aliases.get(p.name, p.name): p for p in program.parameters}
    known = {**ports.reads, **ports.gives, **ports.unwanted, **ports.zeros}
    for name, p in parameters.items():
        if name not in known:
            raise UsageError(f"the program {program.name} has a parameter {p.name}, which is no port of {node.op}: it has {', '.join(known)}")
        _check_type(node, program, p, known[name])
    if missing := [name for name in ports.gives if name not in parameters]:
        raise UsageError(f"the program {program.name} has no parameter {', '.join(missing)}, which {node.op} gives")
    if unwritten := [name for name in ports.gives if parameters[name].direction in ("in", "unused")]:
        raise UsageError(f"the program {program.name} does not write its parameter {', '.join(unwritten)}, which {node.op} gives")
    changed = [name for name, p in parameters.items() if p.direction == "inout"]
    if inputs := [name for name in changed if name in ports.reads or name in ports.zeros]:
        raise TypeError(f"the program {program.name} changes its argument {', '.join(inputs)}: {node.op} leaves its inputs alone")
    arguments = [f"{p.name} = {name}" for name, p in parameters.items()]
    told = {s for p in parameters.values() for s in p.shape}
    for s in program.symbols:
        if s in told:
            continue
        if s not in node._sizes:
            raise UsageError(f"the program {program.name} has a size {s} that no argument tells")
        arguments.append(f"{s} := {s}")
    return _wrapped(program.text, ports, set(parameters), arguments, changed)


def _check_type(node: Node, program: Sdfg, given: Any, port: NodePort) -> None:
    fits = given.type == port.type and len(given.shape) == port.ndim and all(
        a == b for a, b in zip(given.shape, port.shape) if isinstance(a, int) and isinstance(b, int))
    if not fits:
        raise UsageError(f"the program {program.name} takes {given}, and {node.op} has {port}")


def _wrapped(text: str, ports: Ports, used: set[str], arguments: list[str], cleared: Sequence[str] = ()) -> str:
    """An entry whose parameters are the ports in `used`, and which calls the first program of `text`. What it gives in `cleared`
    is zero before: a numpy-style program that writes an argument may also read it."""
    names = re.findall(r"^(?:entry )?sdfg (\w+)\(", text, re.M)
    entry = re.search(r"^entry sdfg (\w+)\(", text, re.M)
    callee = entry[1] if entry else names[0]
    text = re.sub(r"^(?:entry )?sdfg (\w+)\(", r"sdfg of_\1(", text, flags=re.M)
    text = re.sub(r"\bcall (\w+)\(", lambda m: f"call of_{m[1]}(" if m[1] in names else m[0], text)
    declared = ", ".join(p.declared(name) for name, p in {**ports.reads, **ports.gives}.items() if name in used)
    inside = [f"transient {p.declared(name)}" for name, p in {**ports.unwanted, **ports.zeros}.items() if name in used]
    inside += [_zero(name, p) for name, p in ports.zeros.items() if name in used]
    inside += [_zero(name, p) for name, p in {**ports.gives, **ports.unwanted}.items() if name in cleared]
    body = "\n".join(f"  {line}" for line in [*inside, f"call of_{callee}({', '.join(arguments)})"])
    return f"entry sdfg {callee}({declared}) {{\n{body}\n}}\n{text}"


def _zero(name: str, port: NodePort) -> str:
    index = [f"i{k}" for k in range(port.ndim)]
    element = f"{name}[{', '.join(index)}]" if index else name
    ranges = ", ".join(f"{i} in 0:{size}" for i, size in zip(index, port.shape))
    return f"map {ranges} {{ {element} = 0 }}" if index else f"{element} = 0"


# ---- numpy-style functions ----
def _of_function(node: Node, function: Any, ports: Ports) -> str:
    """Its parameters are ports and attributes by name; it returns what it is to give, or writes those of its parameters."""
    arguments, parameter_of = _arguments(node, function, ports)
    sizes: dict[str, Size] = {}
    gives = {**ports.gives, **ports.unwanted}
    written = {name: parameter_of.pop(name) for name in arguments if parameter_of.get(name) in gives}  # as softplus(X, Y) writes Y
    returned = [name for name in ports.returned or ports.gives if name not in written.values()]
    types = renamed({name: what for name, what in arguments.items() if name not in written}, sizes)

    def body(evaluator: Any, values: dict[str, Any]) -> tuple:
        e = evaluator.emitter
        own = {name: creation.zeros(e, [_in_callee(s, sizes, name) for s in gives[port].shape], gives[port].argument.dtype)
               for name, port in written.items()}
        made = evaluator.call(function, [own[n] if n in own else values[n] for n in arguments], {})
        results = dict(zip(returned, _results(function, made, returned))) | {written[n]: a for n, a in own.items()}
        return tuple(_shaped(e, v, gives[n], sizes, n) for n, v in results.items())

    translated = Translation(function, types, body)
    text = translated.sdfg.text
    if changed := [p.name for p in translated.sdfg.parameters if p.direction == "inout"]:
        raise TypeError(f"{function.__name__} changes its argument {', '.join(changed)}: {node.op} leaves its inputs alone")
    outputs = {r.name: name for r, name in zip(translated.results, [*returned, *written.values()])}
    given = {p.name: outputs.get(p.name) or parameter_of[p.name] for p in translated.sdfg.parameters}
    return _wrapped(text, ports, set(given.values()), [f"{theirs} = {ours}" for theirs, ours in given.items()])


def _arguments(node: Node, function: Any, ports: Ports) -> tuple[dict[str, Any], dict[str, str]]:
    """By parameter of the function, the type or value that it gets; and, by name of an array in it, the port."""
    given: dict[str, Any] = {}
    parameter_of: dict[str, str] = {}
    for name, p in inspect.signature(function).parameters.items():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise TypeError(f"{function.__name__} has *args or **kwargs: its parameters are ports and attributes of {node.op}")
        port = {**ports.reads, **ports.gives, **ports.unwanted}.get(ports.aliases.get(name, name))
        group = ports.groups.get(name)
        if port is not None:
            given[name], parameter_of[name] = port.argument, ports.aliases.get(name, name)
        elif isinstance(group, list):
            given[name] = Tree(tuple, tuple((k, getattr(q, "argument", q)) for k, q in enumerate(group)))
            parameter_of.update({leaf_name(name, k): q.name for k, q in enumerate(group) if isinstance(q, NodePort)})
        elif name in ports.groups:
            given[name] = group
        elif name in node.attributes:
            value = node.attributes[name]
            given[name] = tuple(value) if isinstance(value, list) else value
        elif name in node._unset or p.default is not p.empty:
            given[name] = None if p.default is p.empty else p.default
        else:
            known = [*ports.reads, *ports.gives, *(n for n in ports.groups if n not in ports.reads), *node.attributes, *sorted(node._unset)]
            raise TypeError(f"{function.__name__} has a parameter {name}, which is no port or attribute of {node.op}: it has "
                            f"{', '.join(dict.fromkeys(known))}")
    return given, parameter_of


def _results(function: Any, made: Any, names: list[str]) -> list:
    if isinstance(made, dict):
        if set(made) != set(names):
            raise TypeError(f"{function.__name__} gives {', '.join(map(str, made))}, and {', '.join(names)} are wanted")
        return [made[n] for n in names]
    results = [] if made is None else list(made) if isinstance(made, (tuple, list)) else [made]
    if len(results) != len(names):
        raise TypeError(f"{function.__name__} gives {len(results)} results, and {len(names)} are wanted"
                        + (f": {', '.join(names)}" if names else ""))
    return results


def _shaped(e: Any, made: Any, port: NodePort, sizes: Mapping[str, Size], name: str) -> Any:
    """A result as an expression of the port's type and shape."""
    dtype, v = port.argument.dtype, value_of(made)
    if v.ndim == 0 and port.ndim and is_number(made):
        v = broadcast(v, [_in_callee(s, sizes, name) for s in port.shape])
    elif tuple(back(getattr(s, "text", s), sizes) for s in v.shape) != port.shape:
        raise ValueError(f"{name} has shape {show(v.shape)}, and the op's {name} has {show(port.shape)}")
    return elementwise.cast(e, made if is_number(made) and not v.ndim else v, dtype)


def _in_callee(size: int | Size, sizes: Mapping[str, Size], name: str) -> int | Size:
    """A size of the node in the names of the translated function."""
    for own, stands_for in sizes.items():
        if size == stands_for:
            return Size(own)
    if isinstance(size, Size) and any(n in names_in(s) for n in names_in(size) for s in sizes.values()):
        raise ValueError(f"{name} is a number, and the op's has the size {size}, which no argument tells: return an array")
    return size
