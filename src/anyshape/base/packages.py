"""Packages that only some uses need."""

from __future__ import annotations

from importlib.util import find_spec

from anyshape.base.errors.models import MissingPackageError


def require_package(package: str, purpose: str, requirement: str) -> None:
    """Refuses what needs a package that is not installed; a folder of that name is none."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise MissingPackageError(package, purpose, requirement)
