"""Damaged ONNX models: each is read, or refused by a typed error, in bounded time and memory."""
