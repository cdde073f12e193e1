"""What ONNX Runtime computes and what it refuses, of every sample's variants; `verdicts.txt` is the record.

    python -m tests.sizes.verdicts SAMPLES > verdicts.txt      (needs onnxruntime)
"""

import dataclasses
import json
import os
import pickle
import signal
import subprocess
import sys


@dataclasses.dataclass
class Verdicts:
    """Of one sample: the names of variants. Unknown: the process died."""

    refused: list = dataclasses.field(default_factory=list)
    unknown: list = dataclasses.field(default_factory=list)
    asked: bool = True  # False: ONNX Runtime can't run the sample at all
    values: dict = dataclasses.field(default_factory=dict, compare=False)  # of computed variants, where it was asked just now

    def of(self, variant):
        """True: computed, False: refused, None: not known."""
        return None if not self.asked or variant in self.unknown else variant not in self.refused

    def line(self, label):
        return f"{label} | {', '.join(self.refused)} | {', '.join(self.unknown)}".rstrip()


NEVER_ASKED = Verdicts(asked=False)


def recorded(path):
    """{label: Verdicts}"""
    found = {}
    with open(path) as f:
        for line in f:
            label, refused, unknown = (part.strip() for part in line.split("|"))
            found[label] = Verdicts(*[[v for v in part.split(", ") if v] for part in (refused, unknown)])
    return found


def of_sample(sample):
    """Asks ONNX Runtime, in processes that may die."""
    import onnxruntime  # noqa: F401 (once, for all children)

    variants = [name for name, _ in sample.variants()]
    answers = {}
    while len(answers) < len(variants):
        answers.update(answered_by_child(sample, variants[len(answers):]))
        if len(answers) < len(variants):
            answers[variants[len(answers)]] = None
    if answers["as it is"] is None or not answers["as it is"].computed:
        return NEVER_ASKED
    return Verdicts([v for v in variants if answers[v] and not answers[v].computed], [v for v in variants if not answers[v]],
                    values={v: a.values for v, a in answers.items() if a and a.computed})


def answered_by_child(sample, variants):
    """[(variant, Outcome)] up to the one that killed the child."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with open(write, "wb") as f:
            for name, arrays in sample.variants():
                if name in variants:
                    signal.alarm(3)  # ONNX Runtime may hang as well
                    pickle.dump((name, ask(sample, arrays)), f)
                    f.flush()
        os._exit(0)
    os.close(write)
    answers = []
    with open(read, "rb") as f:
        while True:
            try:
                answers.append(pickle.load(f))
            except (EOFError, pickle.UnpicklingError):
                break
    os.waitpid(child, 0)
    return answers


def ask(sample, arrays):
    import onnxruntime

    from tests.sizes.cases import Outcome

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        model = sample.with_symbols(arrays).SerializeToString()
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return Outcome(session.run(None, sample.feeds(arrays)))
    except Exception as error:  # one kind for each status of ONNX Runtime
        return Outcome(error=str(error))


def main(samples):
    from tests.sizes.cases import Sample

    for entry in json.loads(subprocess.run([samples], check=True, stdout=subprocess.PIPE).stdout):
        sample = Sample(entry)
        verdicts = of_sample(sample)
        if verdicts.asked:
            print(verdicts.line(sample.label), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(os.getcwd(), "python", "package"))
    main(sys.argv[1])
