"""The libraries beside the command and in the Python package: {label: file name}."""

# Every room that is loaded at run time, by the file name it gets in the plugins folder beside the binary.
LOADABLE = {
    "//autodiff:libautodiff.so": "libautodiff.so",
    "//backends/cpu:libcpu.so": "libcpu.so",
    "//backends/interpreter:libinterpreter.so": "libinterpreter.so",
    "//importers/onnx:libonnx_importer.so": "libonnx_importer.so",
    "//plugins/image:libimage_ops.so": "libimage_ops.so",
    "//plugins/linalg:liblinalg_ops.so": "liblinalg_ops.so",
    "//plugins/onnx:libonnx_ops.so": "libonnx_ops.so",
    "//plugins/onnxruntime:libonnxruntime_ops.so": "libonnxruntime_ops.so",
    "//plugins/training:libtraining_ops.so": "libtraining_ops.so",
    "//transforms:libtransforms.so": "libtransforms.so",
}

# What they and the command share, in lib/ beside them. Their own search paths name it, so that a copy of this folder works.
SHARED = {
    "//ir:libheadrace.so": "libheadrace.so",
    "//plugins/image:libimage_codecs.so": "libimage_codecs.so",
    "//runtime:libheadrace_runtime.so": "libheadrace_runtime.so",
    "@highs//:so": "libhighs.so",
}
