"""Python functions as graphs: a function runs once on traced tensors, and the ops it applies
become nodes.

    pytree      nested containers of arguments and results, and the paths of their leaves
    annotation  `ash.f32["batch", 64]`, jaxtyping's form, containers of them, static parameters
    tracer      one region being traced; captures of the regions around it
    convert     operands of any kind as tensors; promotion of element types
    function    a whole function traced into a graph
    tensor      the traced tensor: operators and methods, all of them calls of what follows
    elementwise, reduce, movement, assemble, source, index, dot, einsum, compound, control,
    random, late
                the functions users call, by family, as in `anyshape.ops`

Imports point upwards in this list except that `tensor` comes after the families: a family makes
tensors through its tracer, so it knows the class by type only.
"""
