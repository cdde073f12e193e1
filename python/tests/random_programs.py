"""Random programs over NumPy arrays: nested loops, branches, views, slices that are written in place, reductions, products.

    python python/tests/random_programs.py 17        # the text of program 17

Values stay within a few units and functions are smooth where they are, so that gradients can be compared with differences."""

import random
import sys

SIZES = (3, 4, 5)
UNARY = ("np.sin({})", "np.tanh({})", "np.exp(-np.abs({}))", "np.sqrt({} * {} + 1)", "np.cos({})", "-{}", "np.arctan({})", "({} * 0.5)",
         "np.log({} * {} + 1.5)", "np.abs({})", "np.square(np.sin({}))")
BINARY = ("({} + {})", "({} - {})", "(np.sin({}) * {})", "np.maximum({}, {})", "np.minimum({}, {})", "({} / (2 + np.square({})))",
          "np.where({0} > {1}, {0}, {1} * 0.5)", "np.sqrt(np.square({}) + np.square({}) + 1)")


class Generator:
    """One program. `self.names` are the arrays and numbers that every path has defined, with their shapes."""

    def __init__(self, seed: int):
        self.r = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.names: dict[str, tuple] = {}
        self.loops: list[tuple[str, int, int]] = []  # (counter, its least value, its greatest)
        self.shared: set[str] = set()

    def program(self) -> tuple[str, dict[str, tuple]]:
        """(the text of a function f, {argument: its shape})"""
        arguments = {f"a{k}": tuple(self.r.choice(SIZES) for _ in range(self.r.randint(1, 2))) for k in range(self.r.randint(2, 3))}
        arguments["s"] = ()
        self.names = dict(arguments)
        for _ in range(self.r.randint(3, 7)):
            self.statement("    ", 0)
        results = self.r.sample(sorted(self.names), min(3, len(self.names)))
        total = " + ".join(f"np.sum({n} * {self.r.choice(('1', '0.5', 'np.sin(' + n + ')'))})" for n in results)
        text = f"def f({', '.join(arguments)}):\n" + "\n".join(self.lines) + f"\n    return {total}\n"
        return text, arguments

    def fresh(self) -> str:
        self.count += 1
        return f"x{self.count}"

    def add(self, indent: str, line: str) -> None:
        self.lines.append(indent + line)

    def statement(self, indent: str, depth: int) -> None:
        kinds = [self.define, self.define, self.write, self.write, self.update, self.view, self.remember, self.mask, self.swap]
        if self.loops:
            kinds += [self.triangle, self.triangle, self.strided]
        if depth < 2:
            kinds += [self.loop, self.loop, self.branch, self.counted, self.rows]
        self.r.choice(kinds)(indent, depth)

    def define(self, indent, depth) -> None:
        shape = self.r.choice(sorted(set(self.names.values())))
        if self.r.random() < 0.3:
            shape = tuple(self.r.choice(SIZES) for _ in range(self.r.randint(0, 2)))
        text = self.value(shape, 2)
        # Arguments and what shares memory are not bound anew where control flow decides: programs refuse to change them in place then.
        old = [n for n, s in self.names.items() if s == shape and n not in self.shared and n[0] != "a"]
        name = self.fresh()
        if depth:  # a name that only some paths define is not used after them: bind one that all have
            if not old:
                return self.write(indent, depth)
            name = self.r.choice(sorted(old))
        self.add(indent, f"{name} = {text}" if text not in self.names else f"{name} = {text} + 0")
        self.names[name] = shape

    def view(self, indent, depth) -> None:
        arrays = [n for n, s in self.names.items() if s]
        if depth or not arrays:
            return self.write(indent, depth)
        base = self.r.choice(sorted(arrays))
        index, shape = self.slices(self.names[base])
        if not shape:
            return self.write(indent, depth)
        name = self.fresh()
        self.add(indent, f"{name} = {base}[{index}]")
        self.names[name] = shape
        self.shared |= {name, base}

    def remember(self, indent, depth) -> None:
        """old = x; x = …: another name of an array, or a view of it, that is bound anew."""
        arrays = [n for n, s in self.names.items() if s and n not in self.shared and n[0] != "a"]
        if not arrays:
            return self.write(indent, depth)
        name, old = self.r.choice(sorted(arrays)), self.fresh()
        shape = self.names[name]
        index, part = self.slices(shape) if self.r.random() < 0.3 else ("", shape)
        self.add(indent, f"{old} = {name}[{index}]" if index else f"{old} = {name}")
        self.names[old] = part
        text = self.exactly(shape, 2)
        self.add(indent, f"{name} = {text}" if text not in self.names else f"{name} = {text} + 0")
        self.add(indent, f"{name} {self.r.choice('+-')}= np.sum({old}) * 0.25")
        if depth:
            del self.names[old]

    def write(self, indent, depth) -> None:
        arrays = sorted(n for n, s in self.names.items() if s)
        name = self.r.choice(arrays)
        index, shape = self.slices(self.names[name])
        operator = self.r.choice(("=", "=", "+=", "-=", "*="))
        value = self.value(shape, 2)
        if "(" not in value:  # NumPy itself copies a row to a column of one array, which share an element, in a wrong order
            value += " + 0"
        if operator == "*=":
            value = f"np.tanh({value})"
        self.add(indent, f"{name}[{index}] {operator} {value}")

    def mask(self, indent, depth) -> None:
        """x[x > c] = …: elements that the data choose."""
        name = self.r.choice(sorted(n for n, s in self.names.items() if s))
        self.add(indent, f"{name}[{name} > {self.r.choice(('0.5', '-0.25', '1.5'))}] {self.r.choice(('=', '+=', '-='))} {self.value((), 1)}")

    def triangle(self, indent, depth) -> None:
        """Parts whose sizes depend on the loop's counter, as in factorisations."""
        counter, low, high = self.r.choice(self.loops)
        rows = []  # expressions of one dimension that is larger than the counter, and its size
        for n, s in sorted(self.names.items()):
            if s and s[-1] > high:
                rows.append((n if len(s) == 1 else f"{n}[{self.r.randrange(s[0])}]", s[-1]))
            if len(s) == 2 and s[0] > high:
                rows.append((f"{n}[:, {self.r.randrange(s[1])}]", s[0]))
        if not rows:
            return self.write(indent, depth)
        (x, n), (y, m) = self.r.choice(rows), self.r.choice(rows)
        i = counter

        def part(row: str, index: str) -> str:
            return row.replace(":", index) if ":" in row else f"{row[:-1]}, {index}]" if row.endswith("]") else f"{row}[{index}]"

        element = part(self.r.choice((x, y)), i)
        self.add(indent, self.r.choice((
            f"{element} += 0.25 * np.dot({part(x, ':' + i)}, {part(y, ':' + i)})",
            f"{element} -= np.sum(np.sin({part(y, ':' + i)}))",
            f"{part(x, i + ':')} *= np.tanh({element})",
            f"{part(x, ':' + i)} += 0.5 * np.cos({part(y, ':' + i)})",
            f"{part(x, i + ':')} = np.sin({part(x, i + ':')}) + np.mean({part(y, i + ':')})",
            f"{part(x, i + ' + 1:')} -= 0.25 * {part(x, ':' + str(n - 1) + ' - ' + i)}",
            f"s = np.tanh(s + np.max({part(y, i + ':')}))")))

    def strided(self, indent, depth) -> None:
        """A step that the loop's counter decides."""
        vectors = sorted(n for n, s in self.names.items() if len(s) == 1)
        if not vectors:
            return self.write(indent, depth)
        x, counter = self.r.choice(vectors), self.r.choice(self.loops)[0]
        self.add(indent, self.r.choice((f"s = np.tanh(s + np.sum({x}[::{counter} + 1]))", f"{x}[::{counter} + 1] *= 0.5")))

    def swap(self, indent, depth) -> None:
        """a, b = b, a of elements and of parts: everything on the right is read first, views among it are not copied."""
        name = self.r.choice(sorted(n for n, s in self.names.items() if s))
        n = self.names[name][0]
        i, j = self.r.randrange(n), self.r.randrange(n)
        if len(self.names[name]) == 1:
            self.add(indent, f"{name}[{i}], {name}[{j}] = {name}[{j}] + 0.1, {name}[{i}]")
        else:
            self.add(indent, f"{name}[{i}], {name}[{j}] = {name}[{j}].copy(), {name}[{i}]{self.r.choice(('', ' * 0.5'))}")

    def rows(self, indent, depth) -> None:
        """Loops over what arrays hold, with and without its place."""
        name = self.r.choice(sorted(n for n, s in self.names.items() if s))
        shape = self.names[name]
        row, k, v = (f"{x}{self.count}" for x in ("row", "k", "v"))
        self.count += 1
        vectors = sorted(n for n, s in self.names.items() if len(s) == 1)
        if vectors and self.r.random() < 0.4:
            self.add(indent, f"for {row}, {v} in zip({name}, {self.r.choice(vectors)}):")
            factor = v
        elif self.r.random() < 0.5:
            self.add(indent, f"for {k}, {row} in enumerate({name}):")
            factor = f"({k} * 0.25)"
        else:
            self.add(indent, f"for {row} in {name}:")
            factor = "0.5"
        if len(shape) > 1 and self.r.random() < 0.6:
            self.add(indent + "    ", f"{row} {self.r.choice(('+=', '*=', '-='))} np.tanh(np.sum({row}) * {factor})")
        else:
            self.add(indent + "    ", f"s = np.tanh(s + np.sum({row}) * {factor})")

    def update(self, indent, depth) -> None:
        name = self.r.choice(sorted(self.names))
        self.add(indent, f"{name} {self.r.choice(('+=', '-='))} {self.value(self.names[name], 1)}" if self.names[name]
                 else f"{name} = np.tanh({name} + {self.value((), 1)})")

    def loop(self, indent, depth) -> None:
        counter = f"i{len(self.loops)}_{self.count}"
        self.count += 1
        low, step = self.r.randint(0, 1), self.r.choice((1, 1, 1, 2))
        high = self.r.randint(low + 1, min(SIZES))
        backwards = self.r.random() < 0.2
        values = list(range(low, high, step))
        text = f"range({high - 1}, {low - 1}, -1)" if backwards else f"range({low}, {high}, {step})" if step > 1 else f"range({low}, {high})"
        self.add(indent, f"for {counter} in {text}:")
        self.loops.append((counter, values[0], max(high - 1, values[-1])))
        self.body(indent + "    ", depth + 1)
        self.loops.pop()
        if self.r.random() < 0.25:
            self.add(indent, f"s = np.tanh(s + {counter} * 0.25)")

    def counted(self, indent, depth) -> None:
        counter = f"n{self.count}"
        self.count += 1
        self.add(indent, f"{counter} = 0")
        self.add(indent, f"while {counter} < {self.r.randint(1, 3)}:")
        self.body(indent + "    ", depth + 1)
        if self.r.random() < 0.3:
            self.add(indent + "    ", f"if {self.value((), 1)} > 3:")
            self.add(indent + "        ", "break")
        self.add(indent + "    ", f"{counter} += 1")

    def branch(self, indent, depth) -> None:
        self.add(indent, f"if {self.value((), 1)} > {self.r.choice(('0', '0.5', '-0.3'))}:")
        self.body(indent + "    ", depth + 1)
        if self.r.random() < 0.6:
            self.add(indent, "else:")
            self.body(indent + "    ", depth + 1)

    def body(self, indent, depth) -> None:
        for _ in range(self.r.randint(1, 2)):
            self.statement(indent, depth)

    def slices(self, shape: tuple) -> tuple[str, tuple]:
        """(text of an index of an array of this shape, shape of what it chooses)"""
        parts, left = [], []
        for n in shape:
            kind = self.r.random()
            usable = [c for c, low, high in self.loops if high < n]
            if kind < 0.3 and usable:
                parts.append(self.r.choice(usable))
            elif kind < 0.4:
                parts.append(str(self.r.randint(-n, n - 1)))
            elif kind < 0.6:
                parts.append(":")
                left.append(n)
            elif kind < 0.7:
                parts.append("::-1")
                left.append(n)
            elif kind < 0.8:
                parts.append("::2")
                left.append((n + 1) // 2)
            else:
                low = self.r.randint(0, max(n - 2, 0))
                high = self.r.randint(low + 1, n)
                parts.append(f"{low}:{high}" if self.r.random() < 0.5 or high == n else f"{low}:{high - n}")
                left.append(high - low)
        return ", ".join(parts), tuple(left)

    def value(self, shape: tuple, depth: int) -> str:
        """An expression that broadcasts to this shape; its own shape is this one at the top."""
        return self.exactly(shape, depth)

    def exactly(self, shape: tuple, depth: int) -> str:
        if depth <= 0 or self.r.random() < 0.15:
            return self.leaf(shape)
        kind = self.r.random()
        if kind < 0.3:
            return self.r.choice(UNARY).replace("{}", self.exactly(shape, depth - 1))
        if kind < 0.7 or not shape and kind < 0.75:
            text, other = self.r.choice(BINARY), self.smaller(shape)
            a, b = self.exactly(shape, depth - 1), self.exactly(other, depth - 1)
            return text.format(*((a, b) if self.r.random() < 0.5 else (b, a)))
        if kind < 0.82:
            return self.reduction(shape, depth)
        if kind < 0.9 and shape:
            return self.movement(shape, depth)
        return self.product(shape, depth)

    def smaller(self, shape: tuple) -> tuple:
        """A shape that broadcasts to `shape`."""
        return self.r.choice((shape, shape, (), shape[1:]))

    def reduction(self, shape: tuple, depth: int) -> str:
        if len(shape) > 2:
            return self.leaf(shape)
        extra, axis = self.r.choice(SIZES), self.r.randint(0, len(shape))
        inner = self.exactly(shape[:axis] + (extra,) + shape[axis:], depth - 1)
        return f"np.{self.r.choice(('sum', 'mean', 'max', 'min'))}({inner}, axis={axis})" + (" * 0.5" if self.r.random() < 0.5 else "")

    def movement(self, shape: tuple, depth: int) -> str:
        inner = self.exactly(shape, depth - 1)
        n, axis = shape[0], self.r.randrange(len(shape))
        if len(shape) > 2 or self.r.random() < 0.2:
            return f"np.flip({inner}, axis={axis})"
        order = ", ".join(str(self.r.randrange(n)) for _ in range(n))
        kinds = [f"({inner})[np.array([{order}])]", f"np.roll({inner}, {self.r.randint(-2, 2)}, axis={axis})", f"np.cumsum({inner}, axis={axis})"]
        if len(shape) == 2:
            kinds += [f"np.triu({inner})", f"np.tril({inner}, -1)", f"np.reshape({self.exactly((shape[0] * shape[1],), 0)}, {shape})"]
        elif n > 1:
            kinds += [f"np.concatenate(({self.exactly((1,), depth - 1)}, {self.exactly((n - 1,), depth - 1)}))"]
        return self.r.choice(kinds)

    def product(self, shape: tuple, depth: int) -> str:
        k = self.r.choice(SIZES)
        if len(shape) > 2:
            return self.leaf(shape)
        if len(shape) == 2:
            if self.r.random() < 0.3:
                return f"np.outer({self.exactly(shape[:1], depth - 1)}, {self.exactly(shape[1:], depth - 1)})"
            if self.r.random() < 0.3:
                return f"np.transpose({self.exactly(shape[::-1], depth - 1)})"
            return f"np.tanh({self.exactly((shape[0], k), depth - 1)} @ {self.exactly((k, shape[1]), depth - 1)})"
        if len(shape) == 1:
            return f"np.tanh({self.exactly((shape[0], k), depth - 1)} @ {self.exactly((k,), depth - 1)})"
        return f"np.tanh(np.dot({self.exactly((k,), depth - 1)}, {self.exactly((k,), depth - 1)}))"

    def leaf(self, shape: tuple) -> str:
        same = [n for n, s in self.names.items() if s == shape]
        if same and self.r.random() < 0.75:
            return self.r.choice(sorted(same))
        for _ in range(6):  # a part of an array
            arrays = sorted(n for n, s in self.names.items() if s)
            name = self.r.choice(arrays)
            index, left = self.slices(self.names[name])
            if left == shape:
                return f"{name}[{index}]"
        if not shape:
            if self.r.random() < 0.15:
                a, b, c = (self.r.choice(("s", "0.5", "s * s", "-1.25")) for _ in range(3))
                return self.r.choice((f"({a} > 0.25 and {b} or {c})", f"({a} or {b})", f"({a} if s < 0.5 else {b} * np.sum({self.leaf((3,))}))"))
            if self.loops and self.r.random() < 0.5:
                return f"({self.r.choice(self.loops)[0]} * 0.25)"
            return self.r.choice(("0.5", "1.25", "-0.75", "s"))
        return f"np.full({shape if len(shape) > 1 else shape[0]}, {self.r.choice(('0.5', '-1.5', 's'))})"


def program(seed: int) -> tuple[str, dict[str, tuple]]:
    """(text of a function f of NumPy arrays of f64 that gives a number, {argument: shape}); changes its arguments in place."""
    return Generator(seed).program()


if __name__ == "__main__":
    print(program(int(sys.argv[1]))[0])
