"""Native code through llvmlite: LLVM IR is built in memory, optimised, and emitted as an object."""
