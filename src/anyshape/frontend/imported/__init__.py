"""What every imported model is described by, whichever framework it comes from.

    program         a model's graph, where its inputs come from, what its results become
    call_signature  how a model is called: its parameters and the containers around tensors
    axes            the names that users give to the axes of a model's inputs
    conditions      what a model asks of sizes: required, proven or checked by every call
    scalar_sizes    the sizes that small integer tensors hold

No framework is imported here: a frontend reads its own model and describes it in these terms.
"""
