"""Writes SqueezeNet with seeded random weights: make_squeezenet.py LIGHT_MODELS.py OUT.onnx"""

import importlib.util
import sys

import onnx

spec = importlib.util.spec_from_file_location("light_models", sys.argv[1])
light_models = importlib.util.module_from_spec(spec)
spec.loader.exec_module(light_models)
onnx.save(light_models.load("squeezenet"), sys.argv[2])
