"""Ten programs as users of ONNX Runtime write them. Each runs in a folder with net.onnx (perceptron), two.onnx (two inputs,
two outputs) and words.onnx (strings), and leaves `result`."""

SNIPPETS = {
    "quick start": """
import numpy as np
import onnxruntime as ort

session = ort.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
result = session.run(None, {"x:0": x})
""",
    "names and shapes from the session": """
import numpy as np
import onnxruntime as rt

sess = rt.InferenceSession("two.onnx", providers=rt.get_available_providers())
feeds = {i.name: np.ones([d if isinstance(d, int) else 2 for d in i.shape], dtype=np.float32) for i in sess.get_inputs()}
names = [o.name for o in sess.get_outputs()]
result = sess.run(names, feeds) + [[(i.name, i.type, i.shape) for i in sess.get_inputs() + sess.get_outputs()]]
""",
    "one output of two": """
import numpy
import onnxruntime as rt

sess = rt.InferenceSession("two.onnx", providers=["CPUExecutionProvider"])
input_name = sess.get_inputs()[0].name
label_name = sess.get_outputs()[1].name
a = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
result = sess.run([label_name], {input_name: a, "b": a})[0]
""",
    "session options": """
import numpy as np
import onnxruntime as ort

so = ort.SessionOptions()
so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
so.intra_op_num_threads = 1
so.inter_op_num_threads = 1
so.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
so.log_severity_level = 3
session = ort.InferenceSession("net.onnx", sess_options=so, providers=["CPUExecutionProvider"])
result = session.run(["z"], {"x:0": np.full((2, 4), 0.5, np.float32)})
""",
    "a model in memory": """
import numpy as np
import onnxruntime as ort

with open("net.onnx", "rb") as f:
    session = ort.InferenceSession(f.read(), providers=["CPUExecutionProvider"])
meta = session.get_modelmeta()
result = [session.run(None, {"x:0": np.eye(4, dtype=np.float32)})[0], meta.producer_name, meta.graph_name, meta.version,
          meta.description, meta.custom_metadata_map]
""",
    "io binding": """
import numpy as np
import onnxruntime as ort

session = ort.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
io_binding = session.io_binding()
io_binding.bind_cpu_input("x:0", np.ones((2, 4), np.float32))
io_binding.bind_output("z")
session.run_with_iobinding(io_binding)
result = io_binding.copy_outputs_to_cpu()[0]
""",
    "OrtValues and an output of the caller's": """
import numpy as np
import onnxruntime as ort

session = ort.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
x = ort.OrtValue.ortvalue_from_numpy(np.full((3, 4), -2, np.float32))
y = ort.OrtValue.ortvalue_from_shape_and_type([3, 2], np.float32)
binding = session.io_binding()
binding.bind_ortvalue_input("x:0", x)
binding.bind_ortvalue_output("z", y)
session.run_with_iobinding(binding)
result = [y.numpy(), binding.get_outputs()[0].numpy(), x.shape(), x.data_type(), x.device_name(), x.is_tensor()]
""",
    "addresses": """
import numpy as np
import onnxruntime as ort

session = ort.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
x, z = np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4), np.zeros((2, 2), np.float32)
binding = session.io_binding()
binding.bind_input(name="x:0", device_type="cpu", device_id=0, element_type=np.float32, shape=x.shape, buffer_ptr=x.ctypes.data)
binding.bind_output(name="z", device_type="cpu", device_id=0, element_type=np.float32, shape=z.shape, buffer_ptr=z.ctypes.data)
session.run_with_iobinding(binding)
result = z
""",
    "a profile": """
import json
import numpy as np
import onnxruntime as ort

options = ort.SessionOptions()
options.enable_profiling = True
options.profile_file_prefix = "trace"
session = ort.InferenceSession("net.onnx", options, providers=["CPUExecutionProvider"])
y = session.run(None, {"x:0": np.ones((1, 4), np.float32)})[0]
path = session.end_profiling()
with open(path) as f:
    events = json.load(f)
result = [y, path.startswith("trace"), {"model_run"} <= {e["name"] for e in events}, all(e["dur"] >= 0 for e in events if "dur" in e)]
""",
    "strings, and what can go wrong": """
import numpy as np
import onnxruntime as ort

session = ort.InferenceSession("words.onnx", providers=["CPUExecutionProvider"])
result = [session.run(None, {"words": np.array(["b", "?", "a"], dtype=object)})[0]]
net = ort.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
x = np.ones((2, 4), np.float32)
for names, feeds in ((None, {}), (None, {"x:0": x, "q": x}), (None, {"x:0": x.astype(np.float64)}), (None, {"x:0": x[0]}),
                     (None, {"x:0": x[:, :3]}), (["nope"], {"x:0": x}), (None, {"q": x})):
    try:
        net.run(names, feeds)
    except Exception as error:
        result.append(str(error))
for made in (lambda: net.io_binding().bind_cpu_input("q", x), lambda: net.run_with_iobinding(net.io_binding()),
             lambda: setattr(ort.SessionOptions(), "threads", 2), lambda: ort.InferenceSession(7)):
    try:
        made()
    except Exception as error:
        result.append(f"{type(error).__name__}: {error}".replace("onnxruntime.capi.onnxruntime_pybind11_state.", ""))
""",
}


def run(code, module):
    """`result` of the snippet with this module in ONNX Runtime's place."""
    scope = {}
    exec(code.replace("import onnxruntime as", f"import {module} as"), scope)
    return scope["result"]


def write_models(folder):
    from onnx import TensorProto as T
    from onnx import helper
    from onnx_models import model, perceptron, save

    net = perceptron(doc_string="a graph")
    net.producer_name, net.doc_string, net.model_version = "tests", "a perceptron", 3
    helper.set_model_props(net, {"author": "nobody"})
    save(net, f"{folder}/net.onnx")
    save(model([helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Mul", ["a", "b"], ["p"])],
               {"a": ["rows", 3], "b": ["rows", 3]}, {"s": ["rows", 3], "p": ["rows", 3]}), f"{folder}/two.onnx")
    words = model([helper.make_node("LabelEncoder", ["words"], ["numbers"], domain="ai.onnx.ml", keys_strings=["a", "b"],
                                    values_int64s=[1, 2], default_int64=-1)],
                  {"words": (T.STRING, ["n"])}, {"numbers": (T.INT64, ["n"])})
    words.opset_import.append(helper.make_opsetid("ai.onnx.ml", 2))
    save(words, f"{folder}/words.onnx")
