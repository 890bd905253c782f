"""Level 2's integer code as LLVM IR."""
