"""Measuring engines against each other on a machine that is never quite quiet.

    model           a computation that every engine builds for itself, from one seed
    engines         anyshape and its peers behind one interface; streaming: the memory's own speed
    module_engines  the same for modules of torch, which every engine captures for itself
    levels          what our level 1 and level 2 take
    growth          what level 1, level 2 and a call take for graphs of more and more nodes
    process         an engine in a process of its own, stopped whenever it is not its turn
    answers         lines of other processes, within a time
    turns           cases: contenders that take turns, checked against torch before they are timed
    roofline        what the machine can do at best: products, copies and reads
    report          tables of figures with their goals, and the same as JSON
    session         the command line, the processes and the progress bar of one script

A *binding* gives sizes to the axes of a model. A *contender* is an engine with a model and a number
of threads. A *case* is what contenders do in turns; a *slice* is one such turn, some milliseconds
of calls. Only ratios within one case are evidence: the machine's speed drifts between cases.
"""
