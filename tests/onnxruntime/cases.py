"""One case for each way in which ONNX Runtime's optimizer and quantizers use an operator of theirs.

A case is a node with inputs; what ONNX Runtime computes for it is recorded in goldens.txt by write_goldens.py."""

import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

MS = "com.microsoft"


class Case:
    """`inputs` are arrays, None for one that is left out; `units` is how many steps of a quantised result may be between us and
    ONNX Runtime, whose kernels round differently on different machines; `tolerance` of floats is relative to the largest."""

    def __init__(self, name, op, inputs, outputs=1, domain=MS, version=20, units=0, tolerance=1e-5, constants=(), **attributes):
        self.name, self.op, self.inputs, self.domain, self.version = name, op, inputs, domain, version
        self.outputs = [True] * outputs if isinstance(outputs, int) else outputs  # False: one that is not asked for
        self.units, self.tolerance, self.attributes, self.constants = units, tolerance, attributes, constants

    def input_names(self):
        return ["" if x is None else f"{self.name}_{i}" for i, x in enumerate(self.inputs)]

    def output_names(self):
        return [f"{self.name}_out{i}" if wanted else "" for i, wanted in enumerate(self.outputs)]

    def node(self):
        return helper.make_node(self.op, self.input_names(), self.output_names(), name=self.name, domain=self.domain,
                                **self.attributes)

    def model(self, types=None):
        """A model of this node; `types` of its outputs are found where they are not given."""
        return model([self], types)


def model(cases, types=None):
    inputs, outputs, constants = [], [], []
    for c in cases:
        for i, (name, x) in enumerate(zip(c.input_names(), c.inputs)):
            if x is None:
                continue
            if i in c.constants:
                constants.append(numpy_helper.from_array(x, name))
            else:
                inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
        for name in c.output_names():
            if name:
                known = types and types.get(name)
                info = helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(known), None) if known else None
                outputs.append(info or helper.make_empty_tensor_value_info(name))
    graph = helper.make_graph([c.node() for c in cases], "cases", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", max(c.version for c in cases)), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


class Draw:
    """Arrays that depend on the case's name alone: NumPy never changes RandomState's streams."""

    def __init__(self, name):
        self.r = np.random.RandomState(zlib.crc32(name.encode()))

    def f(self, *shape, lo=-2.0, hi=2.0):
        return self.r.uniform(lo, hi, shape).astype(np.float32)

    def u8(self, *shape):
        return self.r.randint(0, 256, shape).astype(np.uint8)

    def i8(self, *shape):
        return self.r.randint(-128, 128, shape).astype(np.int8)

    def weights(self, *shape):
        """7 bits: without VNNI, ONNX Runtime adds pairs of products in 16 bits, which larger weights overflow (reduce_range)."""
        return self.r.randint(-64, 65, shape).astype(np.int8)

    def i32(self, *shape, lo=0, hi=5):
        return self.r.randint(lo, hi, shape).astype(np.int32)


def s(x):
    return np.array(x, np.float32)


def z(x, t=np.uint8):
    return np.array(x, t)


def activations():
    d = Draw("activations")
    yield Case("gelu", "Gelu", [d.f(3, 5, hi=6, lo=-6)])
    yield Case("bias_gelu", "BiasGelu", [d.f(2, 3, 8), d.f(8)])
    yield Case("fast_gelu", "FastGelu", [d.f(3, 5, hi=6, lo=-6)])
    yield Case("fast_gelu_bias", "FastGelu", [d.f(2, 3, 8), d.f(8)])
    yield Case("quick_gelu", "QuickGelu", [d.f(3, 5, lo=-6, hi=6)])
    yield Case("quick_gelu_alpha", "QuickGelu", [d.f(3, 5)], alpha=1.0)


def products():
    d = Draw("products")
    yield Case("fused_matmul", "FusedMatMul", [d.f(2, 3, 4), d.f(2, 5, 4)], alpha=0.125, transB=1)
    yield Case("fused_matmul_a", "FusedMatMul", [d.f(2, 4, 3), d.f(4, 5)], transA=1)
    yield Case("fused_matmul_heads", "FusedMatMul", [d.f(1, 2, 3, 4), d.f(3, 1, 4, 5)], alpha=2.0)
    yield Case("fused_matmul_batch", "FusedMatMul", [d.f(3, 2, 4), d.f(4, 2, 5)], transBatchA=1, transBatchB=1)
    yield Case("fused_matmul_batch_b", "FusedMatMul", [d.f(2, 3, 4), d.f(5, 2, 4)], transBatchB=1, transB=1)
    yield Case("transpose_matmul", "TransposeMatMul", [d.f(2, 4, 3), d.f(2, 4, 5)], transA=1, alpha=0.5)
    for activation, more in (("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("LeakyRelu", {"activation_alpha": 0.2}),
                             ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4})):
        yield Case(f"fused_gemm_{activation.lower()}", "FusedGemm", [d.f(2, 3), d.f(4, 3), d.f(4)], transB=1, alpha=0.5,
                   beta=2.0, activation=activation, **more)
    for activation, more in (("Relu", {}), ("Clip", {"activation_params": [0.0, 6.0]}),
                             ("LeakyRelu", {"activation_params": [0.2]}), ("Sigmoid", {}), ("Tanh", {}),
                             ("HardSigmoid", {"activation_params": [0.2, 0.5]})):
        yield Case(f"fused_conv_{activation.lower()}", "FusedConv", [d.f(1, 4, 7, 6), d.f(6, 2, 3, 3), d.f(6)], group=2,
                   pads=[1, 1, 1, 1], strides=[2, 1], activation=activation, kernel_shape=[3, 3], constants=(1, 2), **more)
    yield Case("fused_conv_add", "FusedConv", [d.f(1, 2, 5, 5), d.f(3, 2, 1, 1), d.f(3), d.f(1, 3, 5, 5)], activation="Relu",
               kernel_shape=[1, 1], constants=(1, 2))
    yield Case("matmul_4_bits", "MatMulNBits", [d.f(2, 3, 64), d.u8(5, 2, 16), d.f(10, lo=0.1, hi=1)], K=64, N=5, bits=4,
               block_size=32, constants=(1, 2))
    yield Case("matmul_4_bits_zero", "MatMulNBits", [d.f(3, 48), d.u8(5, 3, 8), d.f(15, lo=0.1, hi=1), d.u8(10)], K=48, N=5,
               bits=4, block_size=16, constants=(1, 2, 3))
    yield Case("matmul_8_bits", "MatMulNBits", [d.f(3, 32), d.u8(4, 2, 16), d.f(8, lo=0.01, hi=0.1)], K=32, N=4, bits=8,
               block_size=16, constants=(1, 2), tolerance=1e-4)


def normalization():
    d = Draw("normalization")
    for name, shape in (("", (2, 3, 8)), ("_row", (3, 8)), ("_one", (1, 3, 8))):
        yield Case("skip_layer" + name, "SkipLayerNormalization", [d.f(2, 3, 8), d.f(*shape), d.f(8), d.f(8), d.f(8)],
                   epsilon=1e-5)
    yield Case("skip_layer_sum", "SkipLayerNormalization", [d.f(2, 3, 8), d.f(2, 3, 8), d.f(8)],
               outputs=[True, False, False, True])
    yield Case("skip_simplified", "SkipSimplifiedLayerNormalization", [d.f(2, 3, 8), d.f(2, 3, 8), d.f(8)],
               outputs=[True, False, False, True], epsilon=1e-6)
    yield Case("simplified_layer", "SimplifiedLayerNormalization", [d.f(2, 3, 8), d.f(8)], domain="", epsilon=1e-6)
    yield Case("simplified_layer_axis", "SimplifiedLayerNormalization", [d.f(2, 3, 4), d.f(3, 4)], domain="", axis=1)
    ids, segments, mask = d.i32(2, 4, hi=6), d.i32(2, 4, hi=2), z([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    tables = [d.f(6, 8), d.f(10, 8), d.f(2, 8), d.f(8), d.f(8)]
    yield Case("embed_layer", "EmbedLayerNormalization", [ids, segments] + tables + [mask], outputs=[True, True, True],
               mask_index_type=1)
    yield Case("embed_layer_positions", "EmbedLayerNormalization",
               [ids, None, tables[0], tables[1], None, tables[3], tables[4], None, z([[3, 0, 9, 1]], np.int32)],
               outputs=[True, True], epsilon=1e-5)
    quantised = [d.u8(6, 8), d.u8(10, 8), d.u8(2, 8), d.u8(8), d.u8(8)]
    yield Case("q_embed_layer", "QEmbedLayerNormalization",
               [ids, segments] + quantised + [mask, s(0.02), s(0.01), s(0.03), s(0.01), s(0.02), z(120), z(130), z(128), z(9),
                                              z(128)], outputs=2, epsilon=1e-5)


def attention():
    d = Draw("attention")
    x, w, b = d.f(2, 3, 8), d.f(8, 24, lo=-0.6, hi=0.6), d.f(24)
    masks = {"": None, "_lengths": z([2, 3], np.int32), "_ranges": z([3, 2, 1, 0], np.int32),
             "_tokens": z([[1, 1, 0], [0, 1, 1]], np.int32),
             "_pairs": z([[[1, 0, 0], [1, 1, 0], [1, 1, 1]], [[1, 1, 0], [1, 1, 0], [0, 1, 1]]], np.int32)}
    for name, mask in masks.items():
        yield Case("attention" + name, "Attention", [x, w, b, mask], num_heads=2)
    yield Case("attention_causal", "Attention", [x, w, b], num_heads=4, unidirectional=1, scale=0.3)
    yield Case("attention_past", "Attention", [x, w, b, None, d.f(2, 2, 2, 4, 4)], outputs=2, num_heads=2, unidirectional=1)
    yield Case("attention_past_tokens", "Attention",
               [x, w, b, z([[1, 1, 0, 1, 1], [1, 1, 1, 1, 0]], np.int32), d.f(2, 2, 2, 2, 4)], outputs=2, num_heads=2,
               unidirectional=1, mask_filter_value=-50.0)
    yield Case("attention_bias", "Attention", [x, w, b, None, None, d.f(1, 2, 3, 3)], num_heads=2)
    yield Case("attention_sizes", "Attention", [x, d.f(8, 22, lo=-0.6, hi=0.6), d.f(22)], num_heads=2,
               qkv_hidden_sizes=[8, 8, 6])
    q, k, v = d.f(2, 3, 8), d.f(2, 5, 8), d.f(2, 5, 8)
    yield Case("heads", "MultiHeadAttention", [q, k, v], num_heads=2)
    yield Case("heads_bias", "MultiHeadAttention", [q, k, v, d.f(24), z([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32),
                                                    d.f(1, 2, 3, 5)], num_heads=2)
    yield Case("heads_wide_values", "MultiHeadAttention", [q, k, d.f(2, 5, 12)], num_heads=2, scale=0.2)
    yield Case("heads_past", "MultiHeadAttention", [q, d.f(2, 3, 8), d.f(2, 3, 8), None, None, None, d.f(2, 2, 4, 4),
                                                    d.f(2, 2, 4, 4)], outputs=3, num_heads=2, unidirectional=1)
    yield Case("heads_crossed", "MultiHeadAttention", [q, d.f(2, 2, 5, 4), d.f(2, 2, 5, 4)], num_heads=2)
    yield Case("heads_lengths", "MultiHeadAttention", [q, k, v, None, z([5, 3], np.int32)], num_heads=2)
    caches = [d.f(10, 2, lo=-1, hi=1), d.f(10, 2, lo=-1, hi=1)]
    places = z([[0, 1, 2], [5, 4, 9]], np.int64)
    yield Case("rotary", "RotaryEmbedding", [d.f(2, 3, 8), z([3], np.int64)] + caches)
    yield Case("rotary_heads", "RotaryEmbedding", [d.f(2, 2, 3, 4), places] + caches)
    yield Case("rotary_interleaved", "RotaryEmbedding", [d.f(2, 3, 8), places] + caches, interleaved=1)
    yield Case("rotary_part", "RotaryEmbedding", [d.f(2, 3, 12), places] + caches, num_heads=2, rotary_embedding_dim=4)
    for name, weight, scales, zero in (("", d.weights(8, 24), s(0.01), z(0, np.int8)), ("_u8", d.u8(8, 24), s(0.01), z(120)),
                                       ("_columns", d.weights(8, 24), d.f(24, lo=0.005, hi=0.02), np.zeros(24, np.int8))):
        yield Case("q_attention" + name, "QAttention", [d.u8(2, 3, 8), weight, b, s(0.02), scales, masks["_tokens"], z(128), zero],
                   num_heads=2, constants=(1, 4, 7))
    yield Case("q_attention_past", "QAttention", [d.u8(2, 3, 8), d.weights(8, 24), b, s(0.02), s(0.01), None, z(128), z(0, np.int8),
                                                  d.f(2, 2, 2, 2, 4)], outputs=2, num_heads=2, unidirectional=1, constants=(1, 4, 7))


def quantized():
    d = Draw("quantized")
    edges = np.concatenate([d.f(2, 30, lo=-40, hi=40), s([[-1e9, 1e9, 0.25, 0.75, -0.25], [1.25, 1.75, -0.75, 64, -64]])], 1)
    yield Case("quantize_u8", "QuantizeLinear", [edges, s(0.5), z(128)])
    yield Case("quantize_i8_axis", "QuantizeLinear", [edges, s([0.5, 0.3]), z([0, 3], np.int8)], axis=0)
    yield Case("quantize_u16", "QuantizeLinear", [edges, s(0.01), z(30000, np.uint16)])
    yield Case("dequantize_u8", "DequantizeLinear", [d.u8(2, 9), s(0.3), z(120)])
    yield Case("dequantize_i8_axis", "DequantizeLinear", [d.i8(2, 9), d.f(9, lo=0.1, hi=1), d.i8(9)], axis=1)
    yield Case("dequantize_i16", "DequantizeLinear", [d.i8(2, 9).astype(np.int16) * 200, s(0.3), z(-7, np.int16)])
    for op in ("Add", "Mul"):
        name = "q_" + op.lower()
        yield Case(name, "QLinear" + op, [d.u8(7, 33), s(0.02), z(100), d.u8(7, 33), s(0.03), z(120), s(0.05), z(128)], units=1)
        yield Case(name + "_i8", "QLinear" + op, [d.i8(7, 33), s(0.02), z(10, np.int8), d.i8(33), s(0.03), z(-4, np.int8),
                                                  s(0.06), z(3, np.int8)], units=1)
        yield Case(name + "_scalar", "QLinear" + op, [d.u8(5, 9), s(0.02), z(100), d.u8(1), s(0.03), z(12), s(0.05), z(0)], units=1)
    everything = np.arange(256).astype(np.uint8)
    yield Case("q_sigmoid", "QLinearSigmoid", [everything, s(0.05), z(128), s(1 / 256), z(0)], constants=(1, 2, 3, 4))
    yield Case("q_leaky_relu", "QLinearLeakyRelu", [everything.view(np.int8), s(0.05), z(8, np.int8), s(0.06), z(-60, np.int8)],
               alpha=0.1, constants=(1, 2, 3, 4))
    yield Case("q_softmax", "QLinearSoftmax", [d.u8(4, 10), s(0.05), z(128), s(1 / 256), z(0)], opset=13, units=1, axis=-1,
               constants=(1, 2, 3, 4))
    yield Case("q_softmax_flat", "QLinearSoftmax", [d.i8(3, 4, 5), s(0.04), z(0, np.int8), s(1 / 256), z(-128, np.int8)], units=1,
               opset=12, axis=1, constants=(1, 2, 3, 4))
    yield Case("q_concat", "QLinearConcat", [s(0.05), z(100), d.u8(2, 3, 4), s(0.05), z(100), d.u8(2, 2, 4), s(0.02), z(7),
                                             d.u8(2, 1, 4), s(0.09), z(200)], axis=1, constants=(0, 1, 3, 4, 6, 7, 9, 10))
    yield Case("q_where", "QLinearWhere", [z([[True], [False], [True]], bool), d.u8(3, 20), s(0.02), z(100), d.u8(20), s(0.03),
                                           z(120), s(0.04), z(110)], constants=(2, 3, 5, 6, 7, 8))


def quantized_pools():
    d = Draw("quantized_pools")
    tail = [s(0.02), z(100), s(0.015), z(110)]
    yield Case("nhwc_max_pool", "NhwcMaxPool", [d.u8(1, 6, 7, 3)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    yield Case("nhwc_max_pool_i8", "NhwcMaxPool", [d.i8(2, 6, 6, 2)], kernel_shape=[2, 2], strides=[2, 2])
    yield Case("q_average_pool", "QLinearAveragePool", [d.u8(1, 3, 6, 7)] + tail, kernel_shape=[3, 3], pads=[1, 1, 1, 1], units=1)
    yield Case("q_average_pool_last", "QLinearAveragePool", [d.u8(1, 6, 6, 3)] + tail, kernel_shape=[2, 2], strides=[2, 2],
               channels_last=1, count_include_pad=1, pads=[0, 1, 0, 1], units=1)
    yield Case("q_average_pool_ceil", "QLinearAveragePool", [d.i8(1, 2, 7), s(0.02), z(5, np.int8), s(0.03), z(0, np.int8)],
               kernel_shape=[3], strides=[3], ceil_mode=1, units=1)
    yield Case("q_global_pool", "QLinearGlobalAveragePool", [d.u8(2, 3, 7, 7)] + tail, units=1)
    yield Case("q_global_pool_last", "QLinearGlobalAveragePool", [d.u8(2, 7, 7, 3)] + tail, channels_last=1, units=1)


def quantized_products():
    d = Draw("quantized_products")
    yield Case("integer_to_float", "MatMulIntegerToFloat", [d.u8(2, 3, 16), d.weights(16, 5), s(0.02), s(0.03), z(128),
                                                            z(0, np.int8), d.f(5)], constants=(1, 3, 5))
    yield Case("integer_to_float_columns", "MatMulIntegerToFloat", [d.u8(3, 16), d.u8(16, 5), s(0.02), d.f(5, lo=0.01, hi=0.05),
                                                                    z(128), d.u8(5)], constants=(1, 3, 5))
    yield Case("dynamic_matmul", "DynamicQuantizeMatMul", [d.f(2, 3, 16), d.weights(16, 5), s(0.03), z(0, np.int8), d.f(5)],
               constants=(1, 2, 3))
    yield Case("dynamic_matmul_columns", "DynamicQuantizeMatMul", [d.f(3, 16, lo=0.5), d.u8(16, 5), d.f(5, lo=0.01, hi=0.05),
                                                                   d.u8(5)], constants=(1, 2, 3))
    yield Case("dynamic_matmul_zeros", "DynamicQuantizeMatMul", [np.zeros((3, 16), np.float32), d.weights(16, 5), s(0.03)],
               constants=(1, 2))
    yield Case("q_gemm", "QGemm", [d.u8(3, 16), s(0.02), z(120), d.weights(5, 16), d.f(5, lo=0.01, hi=0.05), np.zeros(5, np.int8),
                                   d.i32(5, lo=-900, hi=900), s(0.3), z(110)], transB=1, units=1, constants=(3, 4, 5, 6))
    yield Case("q_gemm_u8", "QGemm", [d.u8(16, 3), s(0.02), z(120), d.u8(16, 5), s(0.03), z(100), None, s(0.3), z(110)],
               transA=1, alpha=0.5, units=1, constants=(3, 4, 5))
    yield Case("q_gemm_float", "QGemm", [d.u8(3, 16), s(0.02), z(120), d.weights(16, 5), s(0.03), z(0, np.int8)], constants=(3, 4, 5))
    for last in (0, 1):
        x, name = (d.u8(1, 7, 6, 4), "_last") if last else (d.u8(1, 4, 7, 6), "")
        yield Case("q_conv" + name, "QLinearConv", [x, s(0.02), z(120), d.weights(6, 2, 3, 3), d.f(6, lo=0.01, hi=0.05),
                                                    np.zeros(6, np.int8), s(0.2), z(110), d.i32(6, lo=-900, hi=900)],
                   group=2, pads=[1, 0, 1, 2], strides=[2, 1], channels_last=last, units=1, constants=(1, 2, 3, 4, 5, 6, 7, 8))
    yield Case("q_conv_depthwise", "QLinearConv", [d.u8(1, 5, 5, 4), s(0.02), z(120), d.weights(4, 1, 3, 3), s(0.03), z(0, np.int8),
                                                   s(0.2), z(110)], group=4, channels_last=1, units=1,
               constants=(1, 2, 3, 4, 5, 6, 7))


def quantized_layers():
    d = Draw("quantized_layers")
    forward = [d.f(4, 1, 6), d.weights(1, 6, 20), d.weights(1, 5, 20), d.f(1, 40)]
    scales = [s([0.01]), z([0], np.int8), s([0.012]), z([0], np.int8)]
    yield Case("lstm", "DynamicQuantizeLSTM", forward + [None] * 4 + scales, outputs=3, hidden_size=5, constants=(1, 2),
               tolerance=1e-4)
    yield Case("lstm_reverse", "DynamicQuantizeLSTM", forward + [None] * 4 + scales, outputs=3, hidden_size=5, direction="reverse",
               constants=(1, 2), tolerance=1e-4)
    yield Case("lstm_states", "DynamicQuantizeLSTM",
               [d.f(3, 1, 6), d.u8(2, 6, 20), d.u8(2, 5, 20), d.f(2, 40), None, d.f(2, 1, 5), d.f(2, 1, 5), None,
                s([0.01, 0.02]), z([120, 130]), s([0.02, 0.01]), z([128, 110])], outputs=3, hidden_size=5,
               direction="bidirectional", constants=(1, 2), tolerance=1e-4)
    yield Case("lstm_columns", "DynamicQuantizeLSTM",
               [d.f(3, 1, 6), d.weights(1, 6, 20), d.weights(1, 5, 20), None, None, None, None, None, d.f(1, 20, lo=0.005, hi=0.02),
                np.zeros((1, 20), np.int8), d.f(1, 20, lo=0.005, hi=0.02), np.zeros((1, 20), np.int8)], outputs=3, hidden_size=5,
               constants=(1, 2), tolerance=1e-4)


FAMILIES = [activations, products, normalization, attention, quantized, quantized_pools, quantized_products, quantized_layers]


def difference(case, got, expected):
    """"", or what differs."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{got.dtype}{got.shape}, expected {expected.dtype}{expected.shape}"
    a, b = got.astype(np.float64), expected.astype(np.float64)
    off = np.abs(a - b).max() if a.size else 0
    if expected.dtype.kind == "f":
        limit = case.tolerance * max(1.0, np.abs(b).max())
    else:
        limit = case.units
    return "" if off <= limit else f"differs by {off}, more than {limit}"
