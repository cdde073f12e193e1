"""Every sample of every op with the size of one dimension off by one: refused or computed as others do.

The model has a symbol for every size; it is compiled once and run with each variant. What it does is compared with
* itself with known sizes, which the importer checks when the model is read;
* ONNX Runtime's verdicts, recorded in verdicts.txt (`again` asks it anew, and compares values);
* the values of ONNX's reference evaluator, where it agrees on the sample as it is (it lacks modes of many ops).
Memory is filled with a pattern (MALLOC_PERTURB_), which no output may have. reviewed.txt lists where others are not followed, and why.

Arguments: the program that prints the samples, backends, every so many samples, [again].
"""

import fnmatch
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "python", "package"))
HERE = os.path.dirname(os.path.abspath(__file__))

from tests.sizes import cases, verdicts  # noqa: E402

SAMPLES, BACKENDS, EVERY = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])
AGAIN = "again" in sys.argv[4:]
POISON = 0xFF ^ int(os.environ["MALLOC_PERTURB_"])


def reviewed():
    """[sample pattern, variant pattern, what, reason]"""
    with open(os.path.join(HERE, "reviewed.txt")) as f:
        return [[part.strip() for part in line.split("|")] for line in f if line.strip() and not line.startswith("#")]


REVIEWED, RECORDED = reviewed(), verdicts.recorded(os.path.join(HERE, "verdicts.txt"))


class SizesTest(unittest.TestCase):
    maxDiff = None

    def check(self, sample):
        if AGAIN:
            oracle = verdicts.of_sample(sample)
            self.assertEqual(oracle, RECORDED.get(sample.label, verdicts.NEVER_ASKED), "verdicts.txt has something else")
        else:
            oracle = RECORDED.get(sample.label, verdicts.NEVER_ASKED)
        wrong = []
        for backend in BACKENDS:
            wrong += [f"{sample.label} | {variant} | {what} | {text}"
                      for variant, what, text in judge(sample, backend, oracle) if not excused(sample, variant, what)]
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))


def excused(sample, variant, what):
    return any(fnmatch.fnmatchcase(sample.label, a) and fnmatch.fnmatchcase(variant, b) and fnmatch.fnmatchcase(what, c)
               for a, b, c, _ in REVIEWED)


def judge(sample, backend, oracle):
    """(variant, against whom, what is wrong)"""
    programs, trusted = {}, False
    for variant, arrays in sample.variants():
        feeds = sample.feeds(arrays)
        key = json.dumps([[n, list(a.shape), str(a.tolist())] for n, a in arrays.items() if n in sample.given])
        if key not in programs:
            programs[key] = cases.Program(sample.with_symbols(arrays), backend)
        ours = programs[key].run(feeds)
        known = cases.Program(sample.with_sizes(arrays), "interpreter").run(feeds)
        if variant == "as it is" and not sample.random and ours.computed:
            theirs = cases.reference(sample.with_sizes(arrays), feeds)
            trusted = theirs.computed and not cases.differences(ours.values, theirs.values)
        for what, text in compare(sample, variant, ours, known, oracle):
            yield variant, what, f"[{backend}] {text}"
        if trusted and ours.computed and oracle.of(variant) is not False:
            if text := against_reference(ours, cases.reference(sample.with_sizes(arrays), feeds), oracle.of(variant)):
                yield variant, "reference", f"[{backend}] {text}"


def compare(sample, variant, ours, known, oracle):
    if ours.computed != known.computed:
        yield "known sizes", f"{say(ours)}; with known sizes {say(known)}"
    elif ours.computed and not sample.random and (text := cases.differences(ours.values, known.values)):
        yield "known sizes", text
    if variant == "as it is" and not ours.computed:
        yield "sample", ours.error
    if ours.computed and (k := cases.unwritten(ours.values, POISON)) is not None:
        yield "unwritten", f"output {k} has elements that nobody wrote"
    if not ours.computed and variant != "as it is" and (text := unclear(sample, ours.error)):
        yield "message", text
    told = oracle.of(variant)
    if told is not None and told != ours.computed:
        yield "ONNX Runtime", f"{say(ours)}; ONNX Runtime {'computes it' if told else 'refuses'}"
    if ours.computed and variant in oracle.values and not sample.random:
        if text := cases.differences(ours.values, oracle.values[variant]):
            yield "ONNX Runtime", text


def against_reference(ours, theirs, told):
    if theirs.computed:
        return cases.differences(ours.values, theirs.values)
    return "" if told else f"computed; the reference evaluator: {theirs.error}"


def unclear(sample, message):
    """A refusal names the node or its op, and numbers; a result of negative size is named by itself."""
    if "E0662" in message and "out_" in message:
        return ""
    op = sample.op.rpartition(".")[2]
    if op not in message:
        return f"does not name {op}: {message}"
    return "" if any(c.isdigit() for c in message.partition("]")[2] or message) else f"no sizes: {message}"


def say(outcome):
    if outcome.computed:
        return "computed " + ", ".join(str(list(getattr(v, "shape", ["?"]))) for v in outcome.values)
    return "refused: " + outcome.error


def add_tests():
    samples = json.loads(subprocess.run([SAMPLES], check=True, stdout=subprocess.PIPE).stdout)
    for entry in samples[::EVERY]:
        name = f"test_{entry['op']}_{entry['version']}_{entry['number']}".replace(".", "_")
        setattr(SizesTest, name, lambda self, entry=entry: self.check(cases.Sample(entry)))


add_tests()

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
