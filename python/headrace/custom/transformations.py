"""Single steps on programs: matches of transformations, and transformations as Python classes."""

from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple

from .. import _core, registrations


class Match(NamedTuple):
    """A place where a transformation can be applied to a program: `program.apply(match)`. `str(match)` is the text of that step,
    "fuse-maps@#1+#3", which pipelines and `headrace opt --apply` take. `what` stands there, a text each; `advised`: a pass would do
    it, and where not, `note` says why. It holds for the program as it was when it was found."""

    transformation: str
    place: str
    what: tuple[str, ...]
    advised: bool
    note: str

    def __str__(self) -> str:
        return f"{self.transformation}@{self.place}"


def transformations() -> list[str]:
    """The names of all that there are: each is also a pass, which takes every step that is advised."""
    return _core.transformations()


def matches(program: Any, names: Iterable[str], options: dict[str, Any]) -> list[Match]:
    given = [(key.replace("_", "-"), str(value)) for key, value in options.items()]
    return [Match(name, place, tuple(what), advised, note)
            for name, place, what, advised, note in _core.matches(program, list(names), given)]


def transformation(name: str, *, doc: str = "") -> Callable[[type], type]:
    """Registers a transformation: a class with two static methods.

        @headrace.transformation("swap-indices")
        class SwapIndices:
            @staticmethod
            def find(program):                      # an Sdfg, to look at
                return [node.id for node in program.nodes("map") if len(node.ranges) == 2]

            @staticmethod
            def apply(program, place):              # an Sdfg: changed in place, or another one is returned
                ...

    `find` gives all places where it can be applied, each on its own, without changing what the program computes: texts of the numbers
    of statements and blocks (`node.id`, `block.id`) and names of containers, joined by "+"; behind "f:" where they are in an SDFG f
    that is not the entry. (place, reason) is one that is not advised. The class is also a pass of this name, which applies the first
    advised match, then finds again, until there is none: where `find` gives a place again and again, none should be advised."""
    from ..sdfg import Sdfg

    def register(made: type) -> type:
        def find(program: Any) -> list[tuple[str, bool, str]]:
            found = made.find(Sdfg(program))
            return [(m, True, "") if isinstance(m, str) else (str(m[0]), False, str(m[1])) for m in found]

        def apply(program: Any, place: str) -> Any:
            changed = Sdfg(program.copy())
            result = made.apply(changed, place)
            if result is not None and not isinstance(result, Sdfg):
                raise TypeError(f"apply of transformation {name!r} returns an Sdfg or None, not {type(result).__name__}")
            return (changed if result is None else result)._program

        _core.add_transformation(f"python:transformation {name}", name, doc or (made.__doc__ or "").strip().split("\n")[0], find, apply)
        registrations.changed()
        return made

    return register
