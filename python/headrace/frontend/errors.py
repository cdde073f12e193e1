"""What translating finds out midway: a loop catches it, goes back to its start and translates its body in another way."""

from __future__ import annotations


class Retry(Exception):
    """`located` is the error for the user where nobody can do it in another way."""

    located: Exception | None = None
    of_nothing = False  # something is None before a loop, and bound in it: its first iteration may be translated apart


class NeedsNumbers(Retry, NotImplementedError):
    """A size that must be a number: the loop that changes it is written out."""

    def __init__(self, sizes, what: str):
        super().__init__(f"{what}: the loop around it needs bounds that are known when the program is translated")
        self.sizes = [str(s) for s in sizes]


class NeedsNumber(NeedsNumbers):
    """The same, of what no loop need be the cause of."""

    def __init__(self, what: str):
        Exception.__init__(self, what)


class Rebound(NeedsNumbers):
    """A list or dict that control flow binds anew: where the loop can't be written out, its parts get memory of their own."""

    def __init__(self, name: str, kind: str):
        super().__init__([], f"{name} is a {kind}, which control flow changes (names of their own for its parts would do)")
        self.name = name


class Unequal(Retry, ValueError):
    """Shapes that do not agree, or do so in each iteration of a loop that is written out."""


class Retyped(Retry, TypeError):
    """The body gives `name`, a Python number so far, another type."""

    def __init__(self, name: str, before, dtype, strong: bool):
        super().__init__(f"{name} is {before} before this block and {dtype} in it: begin with a value of type {dtype}")
        self.name, self.dtype, self.strong = name, dtype, strong


class Resized(Retry, ValueError):
    """The body gives `name`, an array so far of a fixed size, fewer rows: what a mask chose of them."""

    def __init__(self, name: str):
        super().__init__(f"{name} has another size before this block than in it")
        self.name = name


class NeedsMemory(Retry, NotImplementedError):
    """What a mask chose before this block, and the block changes in place or has a view of: an array of its own, from before on."""

    def __init__(self, selected):
        super().__init__("what a mask chose is changed in place here: copy it where it is chosen, by x[mask].copy()")
        self.selected = selected


class NoArray(TypeError):
    """What an expression over arrays can't have in it: a list that is to be an array is tried next."""


class Refused(NotImplementedError):
    """What a program can't do, and what to write instead."""

    def __init__(self, what: str, hint: str):
        super().__init__(what)
        self.hint = hint


class Unknown(NameError):
    """A name that there is not, and those that there are."""

    def __init__(self, what: str, name: str, known):
        super().__init__(what)
        self.name, self.known = name, [k for k in known if " " not in k]


class UnknownAttribute(AttributeError):
    """An attribute that there is not, and those that there are."""

    def __init__(self, what: str, name: str, known):
        super().__init__(what)
        self.name, self.known = name, known


class Unbound(NameError):
    """A name that has no value on one of the ways to where it is read."""

    def __init__(self, what: str, hint: str):
        super().__init__(what)
        self.hint = hint


class OutOfScope:
    """Stands for what a loop's body bound and what is gone with it."""

    def __init__(self, name: str):
        self.name = name
