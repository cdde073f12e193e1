"""JAX: the ONNX model traced into one jitted function, its weights arguments."""

from __future__ import annotations

from typing import Any

from ..cases.folder import LEARNING_RATE, MOMENTUM, Folder
from .base import Call, Engine


class Jax(Engine):
    def start(self, threads: int) -> None:
        import jax  # noqa: F401

        from . import jax_onnx

        self._graph = jax_onnx.Graph

    def load(self, case: Folder) -> Any:
        import jax
        import jax.numpy as jnp

        arrays = case.arrays()
        target = arrays.pop("target", None)
        graph = self._graph(case.onnx, case.key.dtype == "bf16")
        place = lambda tree: jax.tree.map(jnp.asarray, tree)
        return graph, place(graph.parameters), place(arrays), None if target is None else place(target)

    def prepare(self, case: Folder, loaded: Any) -> Call:
        import jax
        import jax.numpy as jnp

        graph, parameters, inputs, target = loaded
        half = case.key.dtype == "bf16"

        def lowered(tree):
            """In bf16; parameters stay f32 outside."""
            return jax.tree.map(lambda x: x.astype(jnp.bfloat16) if half and x.dtype == jnp.float32 else x, tree)

        def network(parameters, inputs):
            return graph(lowered(parameters), lowered(inputs))

        if case.key.mode == "forward":
            if half:  # stored in bf16, as one would for inference
                parameters, inputs = lowered(parameters), lowered(inputs)
            call = jax.jit(network).lower(parameters, inputs).compile()
            return Call(lambda: call(parameters, inputs).block_until_ready(), lambda y, name: y.astype(jnp.float32) if half else y)
        if case.key.mode == "backward":
            names = set(case.wanted)
            of = {n: x for n, x in {**parameters, **inputs}.items() if n in names}
            rest = {n: x for n, x in {**parameters, **inputs}.items() if n not in names}

            def gradients(of, rest, target):
                every = lambda of: {**of, **rest}
                y, pull = jax.vjp(lambda of: network({n: every(of)[n] for n in parameters}, {n: every(of)[n] for n in inputs}), of)
                return {"y": y, **pull(target.astype(y.dtype))[0]}

            call = jax.jit(gradients).lower(of, rest, target).compile()
            return Call(lambda: jax.block_until_ready(call(of, rest, target)), lambda out, name: out[name].astype(jnp.float32) if half else out[name])
        return self._step(case, network, parameters, inputs, target)

    def _step(self, case: Folder, network, parameters, inputs, target) -> Call:
        import jax
        import jax.numpy as jnp

        fixed = {n: x for n, x in parameters.items() if n not in set(case.wanted)}
        state = {"of": {n: x for n, x in parameters.items() if n in set(case.wanted)}}
        state["momentum"] = jax.tree.map(jnp.zeros_like, state["of"])

        def step(of, momentum, inputs, target):
            loss = lambda of: jnp.mean((network({**of, **fixed}, inputs).astype(jnp.float32) - target) ** 2)
            value, gradient = jax.value_and_grad(loss)(of)
            momentum = jax.tree.map(lambda m, g: MOMENTUM * m + g, momentum, gradient)
            return value, jax.tree.map(lambda p, m: p - LEARNING_RATE * m, of, momentum), momentum

        call = jax.jit(step, donate_argnums=(0, 1)).lower(state["of"], state["momentum"], inputs, target).compile()

        def run():
            loss, state["of"], state["momentum"] = call(state["of"], state["momentum"], inputs, target)
            return jax.block_until_ready((loss, state["of"], state["momentum"]))

        return Call(run, lambda out, name: out[0] if name == "loss" else out[2][name])
