"""The decision procedure: does a predicate hold for every binding that the facts allow?

    answer      TRUE | FALSE | UNKNOWN
    effort      how many steps a question may take
    interval    arithmetic of ranges
    equalities  equalities solved for symbols, or oriented into rewrite rules
    system      what is known: solved equalities, ranges, inequalities, alternatives
    define      what a quotient, a minimum or a broadcast says about its arguments
    fourier     Fourier-Motzkin elimination over the integers
    products    consequences of multiplying inequalities
    refute      the search for a contradiction, with case splits
    certificate quick proofs of inequalities, as sums of known ones
    witness     bindings that satisfy the facts: they show early what cannot be proved
    normalize   the simplest form of a dim under the facts
    decider     a few facts taken together: fast paths first, then refutation; memoised
    statements  many facts, and which of them are near a question
    prover      who asks which decider

A goal is proved by refuting its negation, and disproved by refuting the goal. All steps are sound
over the integers, none is complete: whatever exceeds the small budgets is UNKNOWN.
"""

from anyshape.sym.decide.answer import Answer
from anyshape.sym.decide.prover import Prover

__all__ = ["Answer", "Prover"]
