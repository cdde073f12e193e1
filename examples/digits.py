"""Handwritten digits: a network and data to train it on, and a second opinion on the result.

    digits.py make FOLDER [--seed S]       digits.onnx (not trained), train.npz (1,400 images), test.npz (the other 397)
    digits.py evaluate MODEL NPZ           the share of right answers, by ONNX's reference evaluator or ONNX Runtime
"""

import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TRAINING_IMAGES = 1400


def network(seed):
    """Two convolutions and two layers, as LeNet, with batch normalisation and dropout; in training mode."""
    random = np.random.default_rng(seed)
    values = {}

    def layer(name, *shape):
        bound = 1 / np.sqrt(np.prod(shape[1:]))
        values[name + ".weight"] = random.uniform(-bound, bound, shape)
        values[name + ".bias"] = random.uniform(-bound, bound, shape[:1])
        return [name + ".weight", name + ".bias"]

    def normalization(name, channels):
        values.update({f"{name}.{what}": np.full(channels, value) for what, value in
                       {"scale": 1, "shift": 0, "mean": 0, "variance": 1}.items()})  # fmt: skip
        return [f"{name}.{what}" for what in ("scale", "shift", "mean", "variance")]

    nodes = []
    value = "image"

    def then(op, *inputs, outputs=(), **attributes):
        nonlocal value
        made = f"{op.lower()}_{len(nodes)}"
        nodes.append(helper.make_node(op, [value, *inputs], [made, *outputs], name=made, **attributes))
        value = made

    for i, (inputs, outputs) in enumerate([(1, 24), (24, 48)], 1):
        then("Conv", *layer(f"conv{i}", outputs, inputs, 3, 3), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        then("BatchNormalization", *normalization(f"norm{i}", outputs), outputs=[f"norm{i}.new_mean", f"norm{i}.new_variance"], training_mode=1)
        then("Relu")
        then("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    then("Flatten")
    then("Dropout", "ratio", "training")
    then("Gemm", *layer("hidden", 128, 48 * 2 * 2), transB=1)
    then("Relu")
    then("Gemm", *layer("classes", 10, 128), transB=1)
    nodes[-1].output[0] = "scores"

    initializers = [numpy_helper.from_array(v.astype(np.float32), name) for name, v in values.items()]
    initializers += [numpy_helper.from_array(np.float32(0.4), "ratio"), numpy_helper.from_array(np.bool_(True), "training")]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 10])
    graph = helper.make_graph(nodes, "digits", [image], [scores], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def images():
    """The 1,797 digits of 8x8 pixels that scikit-learn carries, and what they show."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return (digits.images / 16).astype(np.float32)[:, None], digits.target.astype(np.int64)


def make(folder, seed):
    image, target = images()
    order = np.random.default_rng(seed).permutation(len(image))
    os.makedirs(folder, exist_ok=True)
    for name, chosen in {"train": order[:TRAINING_IMAGES], "test": order[TRAINING_IMAGES:]}.items():
        np.savez(os.path.join(folder, name + ".npz"), image=image[chosen], target=target[chosen])
    model = network(seed)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, os.path.join(folder, "digits.onnx"))


def evaluate(path, data, runtime):
    """(right answers, all)"""
    samples = np.load(data)
    if runtime == "onnxruntime":
        import onnxruntime

        run = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run
    else:
        from onnx.reference import ReferenceEvaluator

        run = ReferenceEvaluator(path).run
    (scores,) = run(None, {"image": samples["image"]})
    return int(np.sum(scores.argmax(axis=1) == samples["target"])), len(scores)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = flags.add_subparsers(dest="command", required=True)
    command = commands.add_parser("make")
    command.add_argument("folder")
    command.add_argument("--seed", type=int, default=0)
    command = commands.add_parser("evaluate")
    command.add_argument("model")
    command.add_argument("data")
    command.add_argument("--runtime", choices=["reference", "onnxruntime"], default="reference")
    arguments = flags.parse_args()
    if arguments.command == "make":
        return make(arguments.folder, arguments.seed)
    onnx.checker.check_model(arguments.model, full_check=True)
    right, count = evaluate(arguments.model, arguments.data, arguments.runtime)
    print(f"{right} of {count} right: {100 * right / count:.2f} %")


if __name__ == "__main__":
    main()
