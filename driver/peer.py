"""Runs an ONNX model for the command: one line of JSON per question and per answer (driver/peer.h)."""

import json, sys, time
answers, sys.stdout = sys.stdout, sys.stderr

def answer(**what):
    print(json.dumps(what), file=answers, flush=True)

try:
    runtime, model, folder, names, threads = sys.argv[1:6]
    import numpy as np
    data = np.load(folder + "/inputs.npz")
    feeds = {name: data[str(i)] for i, name in enumerate(json.loads(names))}
    feeds = {name: v.astype(object) if v.dtype.kind in "US" else v for name, v in feeds.items()}
    if runtime == "onnxruntime":
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = int(threads)
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        run, version = lambda: session.run(None, feeds), onnxruntime.__version__
    elif runtime == "torch":
        run, version = torch_runner(model, feeds, int(threads))
    else:
        import onnx.reference
        evaluator = onnx.reference.ReferenceEvaluator(model)
        run, version = lambda: evaluator.run(None, feeds), onnx.__version__
    answer(version=version)
    for line in sys.stdin:
        q = json.loads(line)
        if q["do"] == "outputs":
            values = [np.asarray(v) for v in run()]
            values = [v.astype(str) if v.dtype.kind == "O" else v for v in values]
            np.savez(folder + "/outputs.npz", **{str(i): v for i, v in enumerate(values)})
            answer(count=len(values))
            continue
        times, end = [], time.perf_counter() + q["seconds"]
        while len(times) < max(1, q["runs"]) or (q["runs"] == 0 and time.perf_counter() < end):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        answer(times=times)
except ModuleNotFoundError as e:
    answer(missing=e.name)
except Exception as e:
    answer(error=f"{type(e).__name__}: {e}")
