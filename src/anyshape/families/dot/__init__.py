"""Matrix products: `match` recognises one, `plan` divides it into tiles, `kernel` writes loops."""
