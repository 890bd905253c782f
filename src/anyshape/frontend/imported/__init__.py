"""What every imported model is described by, whichever framework it comes from.

    program         a model's graph, where its inputs come from, what its results become
    example         an example call, taken apart into leaves
    call_signature  how a model is called: its parameters and the containers around tensors
    axes            the names that users give to the axes of a model's inputs
    conditions      what a model asks of sizes: required, proven or checked by every call
    held_sizes      the sizes that small integer tensors hold; with size_elements (numbers that
                    sizes decide), size_arithmetic and size_rules (what ops do to them)

No framework is imported here: a frontend reads its own model and describes it in these terms.
"""
