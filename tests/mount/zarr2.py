# SPDX-License-Identifier: MIT
"""Stores of Zarr v2 and N5 for tests, with the interface of zarr-python 2, whatever is installed.

zarr-python 2 itself, where it is there. zarr-python 3 has another interface, writes another format unless it is told,
and knows neither N5 nor all data types of version 2; there, and where neither is installed, zarr2_writer.py stands in.
zarr_test.py compares the two.
"""
try:
    import zarr
    IS_ZARR_PYTHON = zarr.__version__.startswith("2.")
except ImportError:
    IS_ZARR_PYTHON = False

if IS_ZARR_PYTHON:
    from zarr import (Array, DirectoryStore, Group, MemoryStore, N5Store, ZipStore, consolidate_metadata, group, open,
                      open_array, open_consolidated, open_group, save_array)
else:
    from zarr2_writer import (Array, DirectoryStore, Group, MemoryStore, N5Store, ZipStore, consolidate_metadata, group,
                              open, open_array, open_consolidated, open_group, save_array)

__all__ = ["Array", "DirectoryStore", "Group", "IS_ZARR_PYTHON", "MemoryStore", "N5Store", "ZipStore",
           "consolidate_metadata", "group", "open", "open_array", "open_consolidated", "open_group", "save_array"]
