"""Binary search, by functions of the runtime."""
