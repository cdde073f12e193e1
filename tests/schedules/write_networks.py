"""Writes the networks of the onnx package to one uncompressed tar: NAME/model.onnx.

usage: write_networks.py OUT.tar
"""

import os
import sys
import tarfile

import onnx

FOLDER = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")


def main(path):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as out:
        for name in sorted(n for n in os.listdir(FOLDER) if n.endswith(".onnx")):
            out.add(os.path.join(FOLDER, name), name[: -len(".onnx")] + "/model.onnx")


if __name__ == "__main__":
    main(sys.argv[1])
