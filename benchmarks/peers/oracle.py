"""Makes cases: inputs, the ONNX model, and what PyTorch computes in f64 (of quantised networks: what the model says, operator by
operator). A worker like an engine, without turns."""

from __future__ import annotations

import os
import warnings

import torch

from .cases import folder, operators_onnx, quantised, torch_case
from .cases.agreement import AS_AUTOCAST, error, tolerance, tolerance_of_steps
from .cases.key import Key
from .engines.eager import Eager


def make(key: Key, path: str) -> dict:
    """Writes the case to the folder `path`. Values: outputs (`y`), gradients by name, and of a step the loss and the momentum."""
    os.makedirs(path, exist_ok=True)
    case = torch_case.build(key)
    inputs = {name: x.numpy() for name, x in case.inputs.items()}
    model = os.path.join(path, "model.onnx")
    _export(case, model)
    values, wanted, target, flops = _values(case, key.mode)
    moved = _bytes(case, key.mode, wanted, values["y"], 1 if key.dtype == "int8" else 4)
    values = {n: v.detach().numpy() for n, v in values.items() if not (n == "y" and key.mode == "step")}
    allowed = case.tolerance or tolerance(key.mode, key.dtype)
    if key.dtype == "int8":
        quantised.quantise(key.name, model, model, inputs)
        values = {"y": quantised.values(model, inputs)}
        allowed = tolerance_of_steps(quantised.step_of_output(model), values["y"])
    folder.write(path, key, inputs, None if target is None else target.numpy(), list(wanted), values, flops=flops, bytes=moved, tolerance=allowed)
    if key.dtype == "bf16" and key.mode != "forward":
        folder.allow(path, max(allowed, AS_AUTOCAST * _error_of_autocast(folder.Folder(path))))
    return {"flops": flops, "bytes": moved}


def _error_of_autocast(case: folder.Folder) -> float:
    """How far PyTorch eager is from f64 under torch.autocast."""
    engine = Eager()
    call = engine.prepare(case, engine.load(case))
    result = call.run()
    return error(case.expected(), lambda name: call.value(result, name))[0]


def _double(x: torch.Tensor) -> torch.Tensor:
    return x.double() if x.is_floating_point() else x


def _values(case: torch_case.TorchCase, mode: str) -> tuple[dict, dict, torch.Tensor | None, float]:
    """(values, what gradients are by, target in f32, floating-point operations of products)."""
    from torch.utils.flop_counter import FlopCounterMode

    module = case.module.double()
    inputs = {n: _double(x) for n, x in case.inputs.items()}
    wanted: dict[str, torch.Tensor] = {}
    with FlopCounterMode(display=False) as counter:
        if mode == "forward":
            with torch.no_grad():
                values = {"y": module(*inputs.values())}
            target = None
        else:
            if case.by_inputs:
                wanted = {n: inputs[n].requires_grad_() for n in case.by_inputs}
            else:
                wanted = dict(module.named_parameters())
            y = module(*inputs.values())
            torch.manual_seed(2)
            target = torch.randn(y.shape)
            values = {"y": y}
            if mode == "step":
                values["loss"] = torch.nn.functional.mse_loss(y, target.double())
                values["loss"].backward()
            else:
                y.backward(target.double())
            values.update({n: p.grad for n, p in wanted.items() if p.grad is not None})
    module.float()
    return values, wanted, target, float(counter.get_total_flops())


def _bytes(case: torch_case.TorchCase, mode: str, wanted: dict, y: torch.Tensor, size: int) -> int:
    """What must be moved at least: inputs and parameters (of `size` bytes) read, results written; with gradients, of the output's read, of the others
    written, and inputs read twice."""
    read = sum(x.nbytes for x in case.inputs.values())
    parameters = sum(p.numel() * size for p in case.module.parameters())
    out = y.numel() * min(4, y.element_size())
    if mode == "forward":
        return read + parameters + out
    written = sum(p.numel() * 4 for p in wanted.values())
    return 2 * (read + parameters + out) + written * (4 if mode == "step" else 1)


def _export(case: torch_case.TorchCase, path: str) -> None:
    if case.node:
        operators_onnx.save(case.node, path)
        return
    training = case.module.training
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            case.module, tuple(case.inputs.values()), path, dynamo=False, opset_version=17, input_names=list(case.inputs), output_names=["y"],
            training=torch.onnx.TrainingMode.PRESERVE if training else torch.onnx.TrainingMode.EVAL, do_constant_folding=not training)  # fmt: skip
