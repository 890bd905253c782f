"""Python functions as graphs: a function runs once on traced tensors; its ops become nodes.

    pytree      nested containers of arguments and results, and the paths of their leaves
    arrays      arrays of other libraries as NumPy arrays
    annotation  `ash.f32["batch", 64]`, containers of such, static parameters; with
                jaxtyping_form (its annotations) and suggest (annotations to paste)
    declare     axes and predicates given beside the annotations
    tracer      one region being traced; captures of the regions around it
    convert     operands of any kind as tensors; promotion of element types
    axes        axes and shapes as users write them; bounds: slice bounds made exact
    elementwise, movement, reduce, cumulative, assemble, source, index, dot, einsum, compound,
    control, random, late
                the functions users call, by family, as in `anyshape.ops`
    tensor      the traced tensor: operators and methods, all of them calls of the families
    function    a whole function traced into a graph

Imports point up this list. A family makes tensors through its tracer, which is handed the class,
and otherwise knows `Tensor` by type only.
"""
