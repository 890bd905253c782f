"""The node tests of `onnx.backend.test` against anyshape: see `docs/onnx.md`."""
