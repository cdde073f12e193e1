"""A program's parts, to look at: containers, blocks, statements with their memlets, the dataflow between them."""

from __future__ import annotations

from typing import Any, Iterator


class Container:
    """An array of a program. `kind`: parameter, transient, constant, persistent, view or sequence; `shape` has numbers and texts;
    `direction` (of parameters): in, out, inout or unused; `base` of a view."""

    def __init__(self, described: dict):
        self.name, self.kind, self.type = described["name"], described["kind"], described["type"]
        self.shape = tuple(int(s) if s.lstrip("-").isdigit() else s for s in described["shape"])
        self.direction: str | None = described.get("direction")
        self.base: str | None = described.get("base")
        self.origin, self.text = _label(described), described["text"]

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}: {self.type}" + (f"[{', '.join(map(str, self.shape))}]>" if self.shape else ">")


class Memlet:
    """What a statement reads or writes of a container: `subset` is a list of "begin:end". `op` is the operator of a write that
    accumulates ("+=") or None; `dynamic`: data decide, and the subset is an over-approximation."""

    def __init__(self, described: dict):
        self.container, self.write, self.subset = described["container"], described["write"], described["subset"]
        self.op: str | None = described.get("wcr")
        self.dynamic = described.get("dynamic", False)

    def __repr__(self) -> str:
        inside = f"[{', '.join(self.subset)}]" if self.subset else ""
        return f"<{'write' if self.write else 'read'} {self.container}{inside}{f' {self.op}' if self.op else ''}>"


class Node:
    """A statement. `kind`: tasklet, map, library or call. `id` ("#3"): what single steps name it by. `origin`: what it comes from
    ("conv1", "file.py:12", "conv1+relu1", "gradient of conv1"), with all names in `sources` and, of what is part of a gradient,
    those of the forward statements in `gradient_of`; `by` the pass that made it. Of a library node `op` ("onnx.Conv"), `version`,
    `inputs` and `outputs` ({port: container}, lists where a port has several); of a map `ranges` ((index, begin, end, step)) and `body`; of a tasklet `target`, `index`, `operator`, `value`; of a
    call `callee` and `arguments`. `memlets` are those of statements of states; what is inside a map is part of the map's."""

    def __init__(self, described: dict, sdfg: str):
        self.kind, self.sdfg, self.text = described["kind"], sdfg, described.get("text", "")
        self.id: str = described["id"]
        self.origin, self.by = _label(described), described.get("by", "")
        self.sources: list[str] = described.get("from", [])
        self.gradient_of: list[str] = described.get("gradient_of", [])
        self.memlets = [Memlet(m) for m in described.get("memlets", ())]
        self.body = [Node(n, sdfg) for n in described.get("body", ())]
        self.ranges = [(r["index"], r["begin"], r["end"], r["step"]) for r in described.get("ranges", ())]
        self.op = f"{described['domain']}.{described['op']}" if self.kind == "library" else ""
        self.version = described.get("version", 0)
        self.inputs, self.outputs = _ports(described.get("inputs", ())), _ports(described.get("outputs", ()))
        self.target, self.index = described.get("target", ""), described.get("index", [])
        self.operator, self.value = described.get("operator", ""), described.get("value", "")
        self.callee = described.get("callee", "")
        self.arguments = {a["parameter"]: a["container"] for a in described.get("arguments", ())}

    def __iter__(self) -> Iterator[Node]:
        """Itself, and all that is inside."""
        yield self
        for inner in self.body:
            yield from inner

    def __repr__(self) -> str:
        if self.kind == "map":
            return f"<map {', '.join(f'{i} in {b}:{e}' for i, b, e, _ in self.ranges)} of {len(self.body)}>"
        return f"<{self.kind} {self.text}>"


def _label(described: dict) -> str:
    forward = described.get("gradient_of", [])
    return ", ".join(filter(None, ["+".join(described.get("from", [])), forward and "gradient of " + "+".join(forward)]))


def _ports(ports: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for p in ports:
        name, container = p["port"], p["container"]
        before = found.get(name)
        found[name] = container if before is None else [*(before if isinstance(before, list) else [before]), container]
    return found


class Edge:
    """`target` depends on `source`, both nodes of one state: `kind` is "read after write", "write after read" or "write after
    write" of `container`. `memlets`: what the two touch of it."""

    def __init__(self, source: Node, target: Node, container: str, kind: str):
        self.source, self.target, self.container, self.kind = source, target, container, kind
        self.memlets = [m for n in (source, target) for m in n.memlets if m.container == container]

    def __repr__(self) -> str:
        return f"<{self.source!r} → {self.target!r}: {self.kind} of {self.container}>"


class Block:
    """Control flow. `id` ("#b3"): what single steps name it by. `kind`: state (with `label`, `nodes`, `edges`), loop (`text`,
    `body`), if (`branches`: (condition or None, blocks)), let, require, break or continue (`text`)."""

    def __init__(self, described: dict, sdfg: str):
        self.kind, self.sdfg, self.origin = described["kind"], sdfg, _label(described)
        self.id: str = described["id"]
        self.label = described.get("label", "")
        self.nodes = [Node(n, sdfg) for n in described.get("statements", ())]
        self.edges = [Edge(self.nodes[e["from"]], self.nodes[e["to"]], e["container"], e["kind"]) for e in described.get("edges", ())]
        self.body = [Block(b, sdfg) for b in described.get("body", ())]
        self.branches = [(b.get("condition"), [Block(i, sdfg) for i in b["body"]]) for b in described.get("branches", ())]
        self.text = _head(described)

    def __iter__(self) -> Iterator[Block]:
        """Itself, and all that is inside."""
        yield self
        for inner in (*self.body, *(b for _, blocks in self.branches for b in blocks)):
            yield from inner

    def __repr__(self) -> str:
        return f"<{self.text}>"


def _head(d: dict) -> str:
    kind = d["kind"]
    if kind == "state":
        return f"state {d.get('label', '')}".strip()
    if kind == "loop":
        if "variable" in d:
            return f"for {d['variable']} = {d['init']}; {d.get('condition', '')}; {d['variable']} = {d['update']}"
        return f"{'do ' if d.get('do_while') else ''}while {d['condition']}" if "condition" in d else "loop"
    if kind == "let":
        return f"let {d['symbol']} = {d['value']}"
    return f"require {d['condition']}" if kind == "require" else kind


def blocks(program: dict, name: str | None = None) -> list[Block]:
    """The control flow of the sdfg `name` of a program as JSON, or of its entry."""
    return [Block(b, s["name"]) for s in program["sdfgs"] if s["name"] == (name or program["entry"]) for b in s["body"]]


def every_block(program: dict) -> Iterator[Block]:
    """The entry's blocks, then those of the programs it calls, with all inside."""
    names = [program["entry"], *(s["name"] for s in program["sdfgs"] if s["name"] != program["entry"])]
    for name in names:
        for b in blocks(program, name):
            yield from b


def containers(program: dict, name: str | None = None) -> list[Container]:
    return [Container(c) for s in program["sdfgs"] if s["name"] == (name or program["entry"])
            for c in (*s["parameters"], *s["containers"])]
