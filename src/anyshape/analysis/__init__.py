"""Questions about ops that passes, kernel families and lowering all ask."""
