"""Random valid ONNX graphs, compiled once, compared with onnxruntime at several sizes."""
