"""ATen ops, and the fx graphs that torch writes programs in. Needs torch.

    dtypes, symbols  torch's element types and symbolic sizes as ours
    calls            the table of ops, and what an entry sees of a call
    entries          the table's content, one file per family; importing this package fills it
    walk             an fx graph applied node by node
    not_decomposed   ops that torch leaves whole

`torch_export` and `dynamo` get such graphs from torch in two ways, and share what is here.
"""

from anyshape.frontend.aten import entries

__all__ = ["entries"]
