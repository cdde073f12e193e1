"""Writes randomly damaged models to one tar: NUMBER_NAME/model.onnx (.sdfg, .json). Half have bytes changed, half parts.

usage: write_mutants.py OUT.tar COUNT RANDOM_SEED [MODEL …]     without models: the official node cases, programs.py
"""

import io
import os
import random
import re
import sys
import tarfile
import warnings

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

INTS = [0, 1, -1, 2, 3, 7, -2, 100, 2**31 - 1, 2**31, 2**32, -(2**31), 2**62, 2**63 - 1, -(2**63), 65536]
FLOATS = [0.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e30, 1e-30, 0.5]
STRINGS = ["", "x", "NOTSET", "SAME_UPPER", "VALID", "linear", "nearest", "cubic", "i,j->", "\x00\xff", "a" * 300, "ij,jk->ik", "add", "Tanh"]


def bytes_changed(data, others, r):
    data = bytearray(data)
    for _ in range(r.choice([1, 1, 1, 2, 3, 8])):
        at, end = sorted((r.randrange(len(data) + 1), r.randrange(len(data) + 1)))
        end = min(end, at + 64)
        how = r.randrange(8)
        if how == 0 and data:
            data[at % len(data)] ^= 1 << r.randrange(8)
        elif how <= 2 and data:
            data[at % len(data)] = r.choice([0, 1, 2, 0x7F, 0x80, 0xFF, r.randrange(256)])
        elif how == 3:
            del data[at:end]
        elif how == 4:
            data[at:at] = data[at:end]
        elif how == 5:
            data[at:at] = r.randbytes(r.randrange(1, 9))
        elif how == 6:
            other = others[r.randrange(len(others))]
            begin = r.randrange(len(other) + 1)
            data[at:end] = other[begin : begin + r.randrange(1, 64)]
        else:
            data[at:at] = b"\xff" * r.randrange(1, 10) + b"\x01"
    return bytes(data)


def graphs(g):
    yield g
    for n in g.node:
        for a in n.attribute:
            if a.HasField("g"):
                yield from graphs(a.g)


def change_list(values, pool, r):
    values = list(values)
    how = r.randrange(5)
    if how == 0 or not values:
        values.append(r.choice(pool))
    elif how == 1:
        values.pop(r.randrange(len(values)))
    elif how == 2:
        values = []
    else:
        values[r.randrange(len(values))] = r.choice(pool)
    return values


def set_list(field, values):
    del field[:]
    field.extend(values)


def change_attribute(n, nodes, r):
    how = r.randrange(8)
    if not n.attribute or how == 0:
        others = [a for m in nodes for a in m.attribute]
        if others:
            n.attribute.add().CopyFrom(r.choice(others))
        return
    a = r.choice(n.attribute)
    if how == 1:
        n.attribute.remove(a)
    elif how == 2:
        a.type = r.choice(range(15))
    elif a.type == AttributeProto.INT:
        a.i = r.choice(INTS)
    elif a.type == AttributeProto.FLOAT:
        a.f = r.choice(FLOATS)
    elif a.type == AttributeProto.STRING:
        a.s = r.choice(STRINGS).encode("latin-1")
    elif a.type == AttributeProto.INTS:
        set_list(a.ints, change_list(a.ints, INTS, r))
    elif a.type == AttributeProto.FLOATS:
        set_list(a.floats, change_list(a.floats, FLOATS, r))
    elif a.type == AttributeProto.STRINGS:
        set_list(a.strings, change_list(a.strings, [s.encode("latin-1") for s in STRINGS], r))
    elif a.type == AttributeProto.TENSOR:
        change_tensor(a.t, r)
    else:
        a.type = AttributeProto.INT


def change_node(g, ops, r):
    if not g.node:
        return
    n = r.choice(g.node)
    names = [o for m in g.node for o in m.output] + [v.name for v in g.input] + [t.name for t in g.initializer] + ["", "nowhere"]
    how = r.randrange(12)
    if how <= 4:
        change_attribute(n, g.node, r)
    elif how == 5:
        n.op_type = r.choice(ops)
    elif how == 6:
        set_list(n.input, change_list(n.input, names, r))
    elif how == 7:
        set_list(n.output, change_list(n.output, names, r))
    elif how == 8 and len(n.input) > 1:
        i, j = r.randrange(len(n.input)), r.randrange(len(n.input))
        n.input[i], n.input[j] = n.input[j], n.input[i]
    elif how == 9:
        g.node.remove(n)
    elif how == 10:
        g.node.add().CopyFrom(n)
    else:
        n.domain = r.choice(["", "ai.onnx", "ai.onnx.ml", "com.example", "ai.onnx.preview.training"])


def change_tensor(t, r):
    how = r.randrange(5)
    if how == 0:
        set_list(t.dims, change_list(t.dims, INTS, r))
    elif how == 1:
        t.data_type = r.randrange(28)
    elif how == 2 and t.HasField("raw_data"):
        t.raw_data = t.raw_data[: r.randrange(len(t.raw_data) + 1)]
    else:
        try:
            values = numpy_helper.to_array(t).copy()
        except Exception:
            return
        if values.size == 0 or values.dtype.kind not in "if":
            return
        pool = INTS if values.dtype.kind == "i" else FLOATS
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values.flat[r.randrange(values.size)] = np.array(r.choice(pool)).astype(values.dtype)
        t.CopyFrom(numpy_helper.from_array(values, t.name))


def change_type(v, r):
    if not v.type.HasField("tensor_type"):
        v.ClearField("type")
        return
    t = v.type.tensor_type
    how = r.randrange(6)
    if how == 0:
        t.elem_type = r.randrange(28)
    elif how == 1:
        t.ClearField("shape")
    elif how == 2:
        v.ClearField("type")
    elif how == 3 or not t.shape.dim:
        t.shape.dim.add(dim_value=r.choice(INTS))
    elif how == 4:
        r.choice(t.shape.dim).dim_value = r.choice(INTS)
    else:
        r.choice(t.shape.dim).dim_param = r.choice(["N", "M", "2*N", "", "N/0", "sin(", "N" * 200])


def parts_changed(data, ops, r):
    m = onnx.ModelProto.FromString(data)
    for _ in range(r.choice([1, 1, 1, 2, 3])):
        g = r.choice(list(graphs(m.graph)))
        how = r.randrange(12)
        if how <= 5:
            change_node(g, ops, r)
        elif how <= 7 and g.initializer:
            change_tensor(r.choice(g.initializer), r)
        elif how <= 9 and (g.input or g.output):
            change_type(r.choice(list(g.input) + list(g.output)), r)
        elif how == 10:
            r.choice(m.opset_import).version = r.choice(list(range(0, 30)) + [2**40]) if m.opset_import else 0
        elif g.output and g.node:
            r.choice(g.output).name = r.choice([o for n in g.node for o in n.output] + ["nowhere", ""])
    return m.SerializeToString()


def words_changed(data, r):
    words = re.findall(r"\w+|\s+|[^\w\s]", data.decode())
    for _ in range(r.choice([1, 1, 1, 2, 3])):
        at = r.randrange(len(words))
        how = r.randrange(5)
        if how == 0:
            words[at] = r.choice(words)
        elif how == 1:
            words[at] = str(r.choice(INTS))
        elif how == 2:
            words[at : at + r.randrange(1, 4)] = []
        elif how == 3:
            words[at:at] = words[at : at + r.randrange(1, 12)]
        else:
            other = r.randrange(len(words))
            words[at], words[other] = words[other], words[at]
    return "".join(words).encode()


def seeds(paths):
    """(name, extension, bytes)"""
    if paths:
        for path in paths:
            name, extension = os.path.splitext(os.path.basename(path))
            with open(path, "rb") as f:
                yield name, extension, f.read()
        return
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from programs import PROGRAMS

    for name, text in PROGRAMS.items():
        for _ in range(20):  # they are few beside the node cases
            yield name, ".sdfg", text.encode()
    from onnx.backend.test.case import node as node_cases

    np.random.seed(0)
    for c in sorted(node_cases.collect_testcases(), key=lambda c: c.name):
        if c.model is not None:
            yield c.name[len("test_") :], ".onnx", c.model.SerializeToString()


def main():
    warnings.simplefilter("ignore")
    out, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    whole = [s for s in seeds(sys.argv[4:]) if 0 < len(s[2]) <= 65536]
    others = {e: [d for _, x, d in whole if x == e] for e in {x for _, x, _ in whole}}
    ops = sorted({s.name for s in onnx.defs.get_all_schemas()})
    r = random.Random(seed)
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i in range(count):
            name, extension, data = r.choice(whole)
            if r.random() < 0.5:
                damaged = bytes_changed(data, others[extension], r)
            else:
                damaged = parts_changed(data, ops, r) if extension == ".onnx" else words_changed(data, r)
            info = tarfile.TarInfo(f"{i:06d}_{name[:60]}/model{extension}")
            info.size = len(damaged)
            tar.addfile(info, io.BytesIO(damaged))


if __name__ == "__main__":
    main()
