"""Random index expressions: what Simplify, BoundsOf and ProveLe say, against sympy and exact evaluation."""

import os
import random
import subprocess
import sys
import unittest

import sympy

TOOL = os.path.abspath(sys.argv[1])
KNOWN = {"a": (0, 9), "b": (-4, 5), "n": (1, None), "m": (0, None)}  # m: what is known of any size
NAMES = list(KNOWN)


def ask(lines):
    known = [f"{s}={'' if lo is None else lo}:{'' if hi is None else hi}" for s, (lo, hi) in KNOWN.items()]
    done = subprocess.run([TOOL, *known], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines)
    return answers


def tree(r, depth, ops):
    """An expression as text; its syntax is Python's too, floor division and remainder included."""
    if depth == 0 or r.random() < 0.15:
        return r.choice(NAMES) if r.random() < 0.7 else str(r.randint(-6, 12))
    op = r.choice(ops)
    left, right = tree(r, depth - 1, ops), tree(r, depth - 1, ops)
    if op in ("min", "max"):
        return f"{op}({left}, {right})"
    if op in ("//", "%") and r.random() < 0.7:
        right = str(r.choice([-3, -2, 2, 3, 4, 6, 12])) if r.random() < 0.7 else r.choice(["n", "4*n", "n*m", "(n + 1)"])
    return f"(({left}) {op} ({right}))"


def points(r, count):
    for _ in range(count):
        far = r.random() < 0.2
        yield {s: r.randint(lo, hi if hi is not None else lo + (10**6 if far else 12)) for s, (lo, hi) in KNOWN.items()}


def value(text, point):
    try:
        return eval(text, {"min": min, "max": max}, point)
    except ZeroDivisionError:
        return None


def symbolic(text):
    """The same tree in sympy, where // is floor(a/b) and % floor-mod of integers."""

    class Int:
        def __init__(self, e):
            self.e = sympy.sympify(e)

        def _with(op):
            return lambda x, y: Int(op(x.e, y.e if isinstance(y, Int) else sympy.Integer(y)))

        def _reflected(op):
            return lambda x, y: Int(op(sympy.Integer(y), x.e))

        def __neg__(self):
            return Int(-self.e)

        add, sub, mul = (lambda x, y: x + y), (lambda x, y: x - y), (lambda x, y: x * y)
        div, mod = (lambda x, y: sympy.floor(x / y)), sympy.Mod
        __add__, __radd__, __sub__, __rsub__ = _with(add), _reflected(add), _with(sub), _reflected(sub)
        __mul__, __rmul__ = _with(mul), _reflected(mul)
        __floordiv__, __rfloordiv__, __mod__, __rmod__ = _with(div), _reflected(div), _with(mod), _reflected(mod)

    names = {s: Int(sympy.Symbol(s, integer=True)) for s in NAMES}
    out = eval(text, {"min": None, "max": None}, names)
    return out.e if isinstance(out, Int) else sympy.Integer(out)


class Symbolic(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(20240501)

    def trees(self, count, ops, depth=4):
        return [tree(self.random, self.random.randint(1, depth), ops) for _ in range(count)]

    def test_simplified_means_the_same_and_lies_within_its_bounds(self):
        texts = self.trees(6000, ["+", "-", "*", "//", "%", "min", "max", "+", "//", "%"])
        checked = 0
        for text, answer in zip(texts, ask(texts)):
            simple, lo, hi = answer.split("\t")
            for point in points(self.random, 12):
                expected = value(text, point)
                if expected is None or abs(expected) >= 2**62:
                    continue  # divisors are taken to be non-zero
                checked += 1
                self.assertEqual(value(simple, point), expected, f"{text} became {simple} at {point}")
                self.assertTrue(not lo or int(lo) <= expected, f"{text} at {point} is below {lo}")
                self.assertTrue(not hi or expected <= int(hi), f"{text} at {point} is above {hi}")
        self.assertGreater(checked, 40000)

    def test_simplifying_again_changes_nothing(self):
        once = [a.split("\t")[0] for a in ask(self.trees(3000, ["+", "-", "*", "//", "%", "min", "max"]))]
        twice = [a.split("\t")[0] for a in ask(once)]
        self.assertEqual(once, twice)

    def test_sympy_agrees(self):
        texts = self.trees(250, ["+", "-", "*", "//", "%"], depth=3)
        for text, answer in zip(texts, ask(texts)):
            simple = answer.split("\t")[0]
            try:
                left, right = symbolic(text), symbolic(simple)
            except ZeroDivisionError:
                continue
            for point in points(self.random, 4):
                if value(text, point) is None:
                    continue
                at = {sympy.Symbol(s, integer=True): v for s, v in point.items()}
                self.assertEqual(left.subs(at), right.subs(at), f"{text} became {simple} at {point}")

    def test_equal_polynomials_are_equal_text(self):
        texts = self.trees(400, ["+", "-", "*"], depth=3)
        expanded = [str(sympy.expand(symbolic(t))) for t in texts]
        plain = [(t, e) for t, e in zip(texts, expanded) if "**" not in e]  # powers are not our syntax
        self.assertGreater(len(plain), 200)
        ours = ask([t for t, _ in plain])
        theirs = ask([e for _, e in plain])
        self.assertEqual(ours, theirs)

    def test_proofs_hold(self):
        ops = ["+", "-", "*", "//", "%", "min", "max", "+", "-"]
        pairs = [(tree(self.random, 2, ops), tree(self.random, 2, ops)) for _ in range(4000)]
        decided = 0
        for (a, b), answer in zip(pairs, ask([f"{a} <= {b}" for a, b in pairs])):
            if answer == "unknown":
                continue
            decided += 1
            for point in points(self.random, 12):
                x, y = value(a, point), value(b, point)
                if x is not None and y is not None:
                    self.assertEqual(x <= y, answer == "yes", f"{a} <= {b} is not '{answer}' at {point}")
        self.assertGreater(decided, 500)
