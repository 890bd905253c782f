"""Attention: `match` recognises it, `plan` divides it, `kernel` and `few_queries` compute it."""
