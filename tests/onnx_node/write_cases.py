"""Writes every official ONNX node case to one uncompressed tar: CASE/model.onnx, input_I.pb, output_I.pb, tolerance;
with "simple", the official models of a few nodes (Gradient among them).

The onnx wheel makes the cases in memory, so they are written once per build and read by node_suite on every backend.
usage: write_cases.py OUT.tar [simple]
"""

import io
import sys
import tarfile
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case import model as simple_cases
from onnx.backend.test.case import node as node_cases


def value_bytes(value, value_info):
    """The serialised TensorProto, SequenceProto or OptionalProto of one input or output."""
    if isinstance(value, (onnx.TensorProto, onnx.SequenceProto, onnx.OptionalProto)):
        return value.SerializeToString()
    kind = value_info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, value_info.name).SerializeToString()
    if kind == "optional_type":
        return numpy_helper.from_optional(value, value_info.name).SerializeToString()
    if kind == "map_type":
        return numpy_helper.from_dict(value, value_info.name).SerializeToString()
    return numpy_helper.from_array(np.asarray(value), value_info.name).SerializeToString()


def symbolic(model):
    """The model with every size of its inputs a symbol of its own, and no sizes of its outputs."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    constants = {t.name for t in m.graph.initializer}
    for i, value in enumerate(m.graph.input):
        if value.type.WhichOneof("value") == "tensor_type" and value.name not in constants:
            for d, dim in enumerate(value.type.tensor_type.shape.dim):
                dim.dim_param = f"size_{i}_{d}"
    for value in m.graph.output:
        if value.type.WhichOneof("value") == "tensor_type":
            for d in value.type.tensor_type.shape.dim:
                d.ClearField("value")
    m.graph.ClearField("value_info")
    return m


def members(case):
    yield "model.onnx", case.model.SerializeToString()
    yield "symbolic.onnx", symbolic(case.model).SerializeToString()
    yield "tolerance", f"{case.rtol} {case.atol}\n".encode()
    for inputs, outputs in case.data_sets[:1]:
        for kind, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for i, (value, info) in enumerate(zip(values, infos)):
                yield f"{kind}_{i}.pb", value_bytes(value, info)


def main():
    warnings.simplefilter("ignore")
    np.random.seed(0)
    kind = simple_cases if "simple" in sys.argv[2:] else node_cases
    cases = [c for c in kind.collect_testcases() if c.model is not None]
    with tarfile.open(sys.argv[1], "w", format=tarfile.USTAR_FORMAT) as out:
        for case in sorted(cases, key=lambda c: c.name):
            for name, data in members(case):
                info = tarfile.TarInfo(f"{case.name}/{name}")
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    main()
