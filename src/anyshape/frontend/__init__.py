"""Frontends: what turns a model in some source language into a graph."""
