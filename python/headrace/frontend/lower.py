"""Python functions → IR text: the statements. Expressions are in evaluate.py."""

from __future__ import annotations

import ast
import contextlib
from typing import Any, Callable

import numpy as np

from ..trees import has_parts, items, mapped
from . import arrays, creation, elementwise, gathers, growing, sizes, windows
from .again import Again
from .asserting import Asserting
from .constructs import NoPlace
from .dispatch import in_program
from .emitter import Emitter
from .errors import NeedsNumber, OutOfScope, Rebound, Refused, Resized, Retry, Retyped, Unequal
from .evaluate import Evaluator, check_own
from .fields import Fields
from .generators import Generators
from .imports import Imports, without_contexts
from .local import Local
from .objects import has_attributes
from .nonlocals import Nonlocals
from .parts import Parts, arrays_of, whole_name
from .paths import Exits, Paths
from .ranges import Ranges, Rows
from .resizing import Resizing
from .returns import returning
from .scope import Scope
from .selections import Selected
from .sharing import Sharing
from .sizes import Size, is_size
from .statements import RESULT, assigned, at_last, exits, mentions, named_anew, read_after, without_else
from .updates import Updates
from .values import Array, Part, Value, is_number, show, value_of
from .written_out import MOST_WRITTEN_OUT, WrittenOut


class Lowering(Again, Sharing, Resizing, Paths, WrittenOut, Local, Imports, Parts, Fields, Nonlocals, Generators, Asserting, Updates, Evaluator):
    """One function's statements, or those of a function that it calls."""

    def __init__(self, emitter: Emitter, scope: Scope, depth: int = 0):
        super().__init__(emitter, scope, depth)
        self.no_groups()
        self._variables: dict[str, Array] = {}  # names with memory of their own, for control flow changes them
        self._fields: dict[str, tuple] = {}     # of these, those that are attributes
        self._held: set[str] = set()            # lists and dicts whose parts have memory of their own
        self._shared: set[str] = set()          # new names that both branches of an `if` bind
        self._exits: list[Exits] = []           # of the loops that are open
        self._statement = scope.source.body[0]
        self._retyped: dict[str, Retyped] = {}  # of these, types that the second branch gives and the first has not

    def run(self, statements: list[ast.stmt]) -> Any:
        """Translates them all; gives what `return` gives."""
        self.emitter.open_scopes.append(self.scope)
        statements = returning(without_contexts(statements), self.fresh_left)
        if RESULT in assigned([s for s in statements if not isinstance(s, ast.Assign)]):  # in branches and loops, by several types perhaps
            self._again(lambda: self.block(statements), lambda retry: None, {RESULT})
        else:
            self.block(statements)
        result = self.scope.names.get(RESULT)
        if result is not None and (cause := self.scope.unbound.get(RESULT)) is not None:
            with self.at(cause.statement):
                self.check_bound(RESULT)
        self.check_sharing(result)
        self.emitter.open_scopes.pop()
        return result

    def block(self, statements: list[ast.stmt]) -> None:
        for s in statements:
            self._statement = s
            with self.at(s):
                handler = getattr(self, "do_" + type(s).__name__, None)
                if handler is None:
                    raise NoPlace(s)
                handler(s)

    def do_Pass(self, s) -> None:
        pass

    def do_Expr(self, s: ast.Expr) -> None:
        if not isinstance(s.value, ast.Constant):  # a docstring
            self.value(s.value)

    def do_Return(self, s: ast.Return) -> None:
        raise NotImplementedError("return inside a loop: leave the loop with break and return after it")

    def do_Assign(self, s: ast.Assign) -> None:
        value = self.value(s.value)
        if all(isinstance(t, ast.Attribute) and t.attr == "shape" for t in s.targets):
            for t in s.targets:
                self._reshape(t, value)
            return
        if len(s.targets) > 1 and isinstance(value, Value):
            value = self._kept(value, "value")
        for target in s.targets:
            self.assign(target, value)

    def _reshape(self, target: ast.Attribute, shape) -> None:
        """x.shape = …"""
        if not isinstance(target.value, ast.Name) or target.value.id in self._variables:
            raise NotImplementedError("a new shape for what is no plain name, or for what a loop changes: use reshape")
        name = target.value.id
        self.scope.names[name] = arrays.reshape(self.emitter, self.name(name), shape)

    def do_AnnAssign(self, s: ast.AnnAssign) -> None:
        if s.value is not None:
            self.assign(s.target, self.value(s.value))

    def _changed(self, node: ast.expr):
        """What is changed in place."""
        value = self.value(node)
        check_own(value)
        if isinstance(value, Value) and value.sources:
            raise NotImplementedError("a choice between arrays that is changed in place: use an if statement")
        return value.place() if isinstance(value, Value) else value

    def assign(self, target: ast.expr, value) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Subscript):
            base, key = self._changed(target.value), in_program(self.key(target.slice))
            if isinstance(base, (list, dict)):
                self.set_item(base, key, value)
                return
            if self.special(base, "setitem", key, value) is not NotImplemented:
                return
            if not isinstance(base, (Array, Part)):
                raise TypeError("only elements of arrays can be assigned to")
            if isinstance(value, (list, tuple)):
                value = creation.asarray(self.emitter, value)
            if not gathers.scatter(self.emitter, base, key, value):
                view = arrays.subscript(self.emitter, base, key)
                self.emitter.store(view, elementwise.cast(self.emitter, value, view.dtype))
        elif has_attributes(owner := self.value(target.value)):
            self.set_attribute(owner, target.attr, value)
        elif target.attr == "flat":
            windows.putmask(self.emitter, self._changed(target.value), True, in_program(value))
        else:
            part = self._part(target)
            self.emitter.store(part, elementwise.cast(self.emitter, value, part.dtype))

    def _part(self, target: ast.Attribute) -> Value:
        """z.real or z.imag, to be changed."""
        part = self.value(target) if target.attr in ("real", "imag") else None
        if not isinstance(part, (Array, Part)) or not part.ndim:
            raise Refused("assignment to an attribute of what was made outside of the program", "return the value")
        return part

    def _unpack(self, target, value) -> None:
        targets = target.elts
        value = self.several(value, None if any(isinstance(t, ast.Starred) for t in targets) else len(targets))
        starred = [k for k, t in enumerate(targets) if isinstance(t, ast.Starred)]
        if starred and len(value) >= len(targets) - 1:  # first, *others, last = …
            k, more = starred[0], len(value) - len(targets) + 1
            value = [*value[:k], value[k:k + more], *value[k + more:]]
            targets = [t.value if isinstance(t, ast.Starred) else t for t in targets]
        if len(value) != len(targets):
            raise ValueError(f"{len(value)} values for {len(targets)} names")
        if len(value) > 1:  # a, b = b, a: all are read before the first is bound
            value = [self._before(v, target, t.id if isinstance(t, ast.Name) else "value") for t, v in zip(targets, value)]
        for t, v in zip(targets, value):
            self.assign(t, v)

    def _before(self, v, target, name: str):
        """v as it is now, for `name`, whatever is bound to the target."""
        if isinstance(v, (list, tuple)) and has_parts(v):
            now = mapped(lambda x: self._before(x, target, name), v)
            return v if all(a is b for (_, a), (_, b) in zip(items(now), items(v))) else now
        if has_parts(v):  # an object or dict is itself, unless its memory gets the parts of another
            memory = {a.root for t in target.elts if isinstance(t, ast.Name) for a in arrays_of(self._variables.get(t.id))}
            return self._exchanged(v, memory) if memory & {a.root for a in arrays_of(v)} else v
        if not isinstance(v, Value) or not self._changes(v, target):
            return v
        now = self.emitter.materialize(v)
        if self.is_callers(v):
            self.note_callers(f"its {name}", now)
        return now

    # ---- names ----
    def bind(self, name: str, value) -> None:
        if self.bind_further_out(name, value):
            return
        self.note_bound(name, value)
        variable = self._variables.get(name)
        if variable is not None and has_parts(variable):
            self.bind_parts(name, variable, value)
            return
        if variable is not None and isinstance(value, Value) and value.ndim:
            self.release(name)
        callers = variable is not None and self.is_callers(value)
        self.unshare(name)
        if variable is not None:
            if callers:
                self.note_callers(name, variable)
            self._set(name, variable, value)
        elif name in self._shared or name == RESULT and self._exits:
            self._variables[name] = self._own(name, self._as_noted(name, value))
        elif name == RESULT and self.depth == 0:
            self.scope.names[name] = value  # nothing happens after it
        else:
            self.scope.names[name] = self._kept(value, _hint(name))

    def _kept(self, value, hint: str):
        """The value as a name has it: expressions are evaluated now, numbers are copied, arrays and views are shared."""
        if has_parts(value):
            if id(value) in self.emitter.settled_parts or id(value) in self.emitter.carried and not isinstance(value, tuple):
                return value
            kept = mapped(lambda v: self._kept(v, hint), value)
            same = all(a is b for (_, a), (_, b) in zip(items(kept), items(value)))
            itself = same and (not isinstance(value, (list, dict)) or id(value) in self.emitter.collections)
            return growing.settled(self.emitter, value if itself else growing.noted(self.emitter, kept))
        if isinstance(value, Selected):
            return value.kept()
        if isinstance(value, Value) and (not isinstance(value, (Array, Part)) or value.ndim == 0 and not value.in_place):
            kept = self.emitter.materialize(value, hint)
            kept.count = value.count
            self.note_sharing(hint, kept, value)
            return kept
        if self.is_field(value.of if isinstance(value, Part) else value):
            kept = self.emitter.materialize(value, hint)
            self.note_sharing(hint, kept, value)
            return kept
        return value

    def _as_noted(self, name: str, value):
        """The value with the type that another branch gives this name."""
        return self._as_retyped(value, self._retyped[name]) if name in self._retyped else value

    def _set(self, name: str, variable: Array, value) -> None:
        if has_parts(value) or value is None:
            raise self.other_kind(name, variable, value)
        v = value_of(value)
        if name in self.grouped:
            self.resize(name, variable, value)
            return
        if v.shape != variable.shape:
            if self.may_shrink(v, variable):
                raise Resized(name)
            raise Unequal(f"this function returns shape {show(variable.shape)} in one place, and {show(v.shape)} here" if whole_name(name) == RESULT else
                          f"{whole_name(name)} has shape {show(variable.shape)} before this block and {show(v.shape)} in it")
        kinds = "biufc"
        strong = not (v.weak or is_number(value) and not isinstance(value, np.generic))
        loses = not np.can_cast(v.dtype, variable.dtype) if strong else kinds.index(v.dtype.kind) > kinds.index(variable.dtype.kind)
        if variable.weak and strong or loses:
            again = Retyped(name, variable.dtype, v.dtype, strong)
            raise again if variable.weak else TypeError(str(again))
        self.note_sharing(name, variable, value)
        with self.emitter.rebinding():
            self.emitter.store(variable, elementwise.cast(self.emitter, value, variable.dtype))
        self.scope.names[name] = variable

    def _own(self, name: str, value) -> Array:
        if has_parts(value):
            return self.own_parts(name, value)
        value = value_of(value) if isinstance(value, np.ndarray) else value
        if not (isinstance(value, Value) or is_number(value) or is_size(value)):
            refused = NeedsNumber(f"{whole_name(name)} is {'None' if value is None else 'a ' + type(value).__name__}, which control flow can't change")
            refused.of_nothing = value is None
            raise refused
        own = self.emitter.materialize(value, _hint(name))
        self.note_sharing(name, own, value)
        self.scope.names[name] = own
        return own

    def _settle(self, statements: list[ast.stmt]) -> None:
        """Names that exist and that the statements bind get memory of their own."""
        bound = set(assigned(statements, updated=False))
        for name in assigned(statements):
            if name in self._variables and name in bound:
                self.release(name)
            if name in self._variables or name not in self.scope.names:
                continue
            value = self.scope.names[name]
            if isinstance(value, Selected):
                value = value.place()
            if isinstance(value, OutOfScope):
                del self.scope.names[name]
            elif name in bound or not (isinstance(value, (Array, Part)) and (value.ndim or value.in_place)):  # arrays: x += … changes them in place
                self._variables[name] = self._own(name, value)
        self.own_fields()

    # ---- control flow ----
    def do_For(self, s: ast.For) -> None:
        if s.orelse:
            self.block(without_else(s, self.fresh_left()))
            return
        with self.going_over():
            self._for(s)

    def _for(self, s: ast.For) -> None:
        self.check_loop(s.target)
        call = s.iter
        if (generator := self.generator_of(call)) is not None:
            self.do_generated(s, generator, *self.given(call))
            return
        over = self.value(call.func) if isinstance(call, ast.Call) and not call.keywords else None
        items = None if over is range else self.value(call)
        if isinstance(items, Value) and not items.ndim:
            raise TypeError(f"a loop over a number of type {items.dtype}: for k in range(n) counts")
        if isinstance(items, Value) and not isinstance(s.target, ast.Name):  # for a, b in edges
            items = Rows([items], items.shape[0], lambda parts, k: arrays.subscript(self.emitter, parts[0], k))
        if over is range or isinstance(items, Value):
            rows = None if over is range else self.held(items, s.body)
            bounds = [self.value(a) for a in call.args] if over is range else [items.shape[0]]
            self._again(lambda: self._range_loop(s, bounds, rows), lambda retry: self._written_out(s, bounds, rows, retry))
            return
        if isinstance(items, Rows):
            items.parts = [self.held(p, s.body) for p in items.parts]
            self.block([items.loop(s, f"each {self.emitter.fresh('row')}")])
            return
        if isinstance(items, Ranges):
            if len(items.bounds) > 1 or not isinstance(s.target, ast.Name):
                self.block([items.loops(s)])
            else:
                bounds = list(items.bounds[0])
                self._again(lambda: self._range_loop(s, bounds), lambda retry: self._written_out(s, bounds, None, retry))
            return
        self.one_by_one(s, [self.held(i, s.body) for i in self.several(items)])  # a tuple or list of Python's: known, so written out

    def _range_loop(self, s: ast.For, bounds: list, rows: Value | None = None, at: Callable[[Size], Any] = lambda k: k) -> None:
        """`at`: what its variable is, from one that goes in steps that are known."""
        if not isinstance(s.target, ast.Name):
            raise NotImplementedError("a loop over a range binds one name")
        name = s.target.id
        if name in assigned(s.body):  # the loop has a variable of its own then
            self._range_loop(named_anew(s, f"each {self.emitter.fresh(name)}"), bounds, rows, at)
            return
        begin, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
        begin, end = self.emitter.size_of(begin), self.emitter.size_of(end)
        if step == 0:
            raise ValueError("range() arg 3 must not be zero")
        step = int(step) if isinstance(step, np.integer) else step
        if not isinstance(step, int):
            step, up = self.emitter.step_of(step)
            count = (end - begin + step - 1) // step if up else (begin - end - step - 1) // -step
            return self._range_loop(s, [0, self.emitter.alone(count), 1], None, lambda k: begin + step * k)
        runs = self.surely_runs(begin, end, step)
        if runs is None:
            return self.skipped(s)
        self._settle(s.body)
        before, left = self.scope.names.get(name), self._last_value(s, rows)
        variable = self.emitter.fresh(_hint(name))
        text = f"for {variable} in {begin}:{end}" + ("" if step == 1 else f":{step}")
        first, last = sizes.interval(begin, self.emitter.intervals), sizes.interval(end, self.emitter.intervals)
        least, greatest = (begin, end - 1) if step > 0 else (end + 1, begin)
        self.emitter.intervals[variable] = ((first[0], last[1] if last[1] is None else last[1] - 1) if step > 0 else
                                            (last[0] if last[0] is None else last[0] + 1, first[1]))
        self.emitter.loops[variable] = (least, greatest)
        self.emitter.symbols.add(variable)
        with self.looping(s, runs) as states, self._leaving(s.body, variable, begin + (end - begin - (1 if step > 0 else -1)) // step * step), self.emitter.block(text), self.iterating(s.body):
            index, self.emitter.guards_of[variable] = at(Size(variable)), self.emitter.guards
            row = index if rows is None else arrays.subscript(self.emitter, rows, index)
            self.scope.names[name] = self._kept(row, _hint(name)) if rows is not None and not row.ndim else row  # numbers are copied
            self.scope.unbound.pop(name, None)
            if left is not None:
                with self.emitter.rebinding():
                    self.emitter.store(left, elementwise.cast(self.emitter, self.scope.names[name], left.dtype))
            with self.sizes_of_iterations(s.body):
                self.block(s.body)
            states.append(self.state())
        del self.emitter.loops[variable]
        self.sizes_after_loop()
        self._after_loop(s, before, left, rows)

    def _last_value(self, s: ast.For, rows: Value | None) -> Array | None:
        """Memory for the number that a loop's variable is after the loop, where someone reads it there."""
        if not read_after(s.target.id, s, self.scope.source.body) or rows is not None and rows.ndim > 1:
            return None
        if rows is not None:
            return self.emitter.materialize(elementwise.cast(self.emitter, 0, rows.dtype), s.target.id + "_last")
        before = self.scope.names.get(s.target.id)
        known = before if is_size(before) or isinstance(before, Value) and before.weak and before.dtype == np.int64 and not before.ndim else 0
        return self.emitter.materialize(known, s.target.id + "_last")

    def _after_loop(self, s: ast.For, before, last: Array | None, rows: Value | None) -> None:
        name = s.target.id
        self.scope.names.pop(name, None)
        if before is not None and not isinstance(before, OutOfScope) and name in self._variables:
            self.scope.names[name] = before
        if rows is not None and rows.ndim > 1:
            if read_after(name, s, self.scope.source.body):
                self.scope.names[name] = OutOfScope(name) if exits(s.body, (ast.Break,)) else arrays.subscript(self.emitter, rows, -1)
            return
        if last is None:
            return
        if name in self._variables:
            self._set(name, self._variables[name], last)
        else:
            self.scope.names[name] = last

    @contextlib.contextmanager
    def _leaving(self, body: list[ast.stmt], variable: str = "", last: int | Size = 0):
        """A loop's body: names that it binds to something that only exists in it are what they are in the last iteration, where its
        variable is `last`, or unknown afterwards."""
        known = self.emitter.names - {variable}
        yield
        for name in assigned(body):
            if name in self._variables or name not in self.scope.names:
                continue
            inside, value = (self.emitter.names - known) & self.emitter.symbols, self.scope.names[name]
            if isinstance(value, Array) and value.count is not None and mentions(value.count) & inside:
                self.scope.names[name] = value.view(value.shape, value.dims)
            elif not isinstance(value, OutOfScope) and mentions(value) & inside:
                left = at_last(value, variable, last) if variable and mentions(value) & inside == {variable} and not exits(body) else None
                self.scope.names[name] = OutOfScope(name) if left is None else left

    def _written_out(self, s: ast.For, bounds: list, rows: Value | None, retry: Retry):
        """The loop with its variable as a number, one body after the other, or only the first where that is enough; None where its bounds are not
        known."""
        if not all(isinstance(b, int) for b in bounds) or len(range(*bounds)) > MOST_WRITTEN_OUT:
            return self.first_apart(s, bounds, rows) if retry.of_nothing else None

        def bodies() -> None:
            self.one_by_one(s, (k if rows is None else arrays.subscript(self.emitter, rows, k) for k in range(*bounds)))

        bodies.times = len(range(*bounds))  # type: ignore[attr-defined]
        return bodies

    def do_While(self, s: ast.While) -> None:
        if s.orelse:
            self.block(without_else(s, self.fresh_left()))
            return
        if isinstance(s.test, ast.Constant) and s.test.value and not exits(s.body, (ast.Break,)):
            raise Refused("a loop that never ends", "leave it by break or return")
        self._again(lambda: self._while_loop(s), lambda retry: self.while_known(s, retry))

    def _while_loop(self, s: ast.While) -> None:
        runs = self.starts_true(s.test)
        self._settle([ast.copy_location(ast.Expr(s.test), s), *s.body])
        ends = not isinstance(s.test, ast.Constant) or not s.test.value
        with (self.looping(s, runs, ends) as states, self._leaving(s.body), self.emitter.block("loop"), self.iterating(s.body),
              self.sizes_of_iterations(s.body)):
            test = self.truth(self.value(s.test))
            if isinstance(test, Value):
                stop = self.emitter.test(elementwise.apply(self.emitter, "logical_not", test))
                with self.emitter.block(f"if {stop}"):
                    self.emitter.line("break")
            elif not test:
                self.emitter.line("break")
            self.block(s.body)
            states.append(self.state())
        self.sizes_after_loop()


def _hint(name: str) -> str:
    return "result" if whole_name(name) == RESULT else name.split()[-1]  # of our own making are names of two words: none of the user's is one


Evaluator.function = Lowering  # functions that are called are lowered in place
