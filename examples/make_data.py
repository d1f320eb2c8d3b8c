#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes the example data beside this script; running it again makes the same bytes.

    make_data.py [DIRECTORY]        default: the folder `data` beside this script

    DIRECTORY/
    ├── notes.txt           a plain text file
    ├── climate.zarr/       Zarr v2, coordinates in the CF manner, consolidated metadata
    ├── ocean.zarr/         Zarr v3: subgroups, shards, an array of structs
    └── arrays/             NPY files: C and Fortran order, structs, big-endian

Needs NumPy and numcodecs. The values are made with +, -, * and / alone, which give the same bits on every processor;
another release of a compressor may pack them into other bytes.
"""
import json
import os
import shutil
import sys

import numcodecs
import numpy as np

import zarr3

NOTES = """\
Example data for ndlfs
======================

climate.zarr   two metres temperature and rainfall on a coarse grid (made up), Zarr v2
ocean.zarr     sea surface temperature in shards, and buoy reports as structs (made up), Zarr v3
arrays/        NPY files: one in C order, one in Fortran order, one of structs, one big-endian

This file is not an array store: a mount shows it unchanged.
"""

OBSERVATION = np.dtype([("buoy", "<i4"), ("position", [("lat", "<f4"), ("lon", "<f4")]),
                        ("sst", "<f8"), ("quality", "u1")])
PARTICLE = np.dtype([("id", "<u4"), ("position", "<f8", (3,)), ("charge", "i1")])


def climate():
    """The arrays of climate.zarr, by name."""
    time = np.arange(24, dtype=np.int32) * 6
    lat = (np.arange(45, dtype=np.float64) * -4 + 88).astype(np.float32)
    lon = (np.arange(90, dtype=np.float64) * 4).astype(np.float32)
    season = (time % 24 - 12.0) / 12
    wave = (lon.astype(np.float64) - 180) / 180
    t2m = (303 - 0.0075 * lat.astype(np.float64)[None, :, None] ** 2
           + 4 * (1 - season[:, None, None] ** 2)
           + 6 * wave[None, None, :] * (1 - wave[None, None, :] ** 2))
    rain = np.zeros((24, 45, 90), np.int16)
    rain[::2, 15:30, 10:60] = (np.arange(50) * 7 % 31).astype(np.int16)
    return {"time": time, "lat": lat, "lon": lon, "t2m": t2m.astype(np.float32), "rain": rain}


def ocean():
    """The arrays of ocean.zarr, by path."""
    lat = np.arange(32, dtype=np.float32) * 2 - 31
    lon = np.arange(64, dtype=np.float32) * 2 + 120
    depth = np.array([0, 5, 10, 20, 40, 80, 160, 320], np.float64)
    sst = (29 - 0.011 * lat.astype(np.float64)[:, None] ** 2
           + 0.01 * (lon.astype(np.float64)[None, :] - 180)).astype(np.float32)
    profile = sst.astype(np.float64)[None] / (1 + depth[:, None, None] / 50)
    sst[8:16, 32:48] = np.nan  # land: a whole inner chunk, which the shard leaves out
    warming = np.arange(12, dtype=np.float32)[:, None, None] / 8
    number = np.arange(100)
    observations = np.zeros(100, OBSERVATION)
    observations["buoy"] = 41000 + number
    observations["position"]["lat"] = number * 0.5 - 25
    observations["position"]["lon"] = number * 1.25 + 130
    observations["sst"] = 28 - number * 0.0625
    observations["quality"] = number % 4
    return {
        "surface/lat": lat,
        "surface/lon": lon,
        "surface/sst": sst + warming,
        "profiles/depth": depth,
        "profiles/temperature": profile.astype(np.float32),
        "stations/observations": observations,
    }


def arrays():
    """The NPY files, by name without extension."""
    count = np.arange(60, dtype=np.float64)
    particles = np.zeros((4, 5), PARTICLE)
    particles["id"] = np.arange(20).reshape(4, 5)
    particles["position"] = (count / 4).reshape(4, 5, 3)
    particles["charge"] = np.arange(20).reshape(4, 5) % 3 - 1
    return {
        "c_order": (count * count / 3).reshape(3, 4, 5),
        "fortran_order": np.asfortranarray(np.arange(48, dtype=np.int32).reshape(6, 8)),
        "structs": particles,
        "big_endian": (np.arange(64, dtype=np.float32) / 7).reshape(8, 8).astype(">f4"),
    }


def expected():
    """Every array of the example data: {store: {path: array}}; the path "" is a store that is one array."""
    return {
        "climate.zarr": climate(),
        "ocean.zarr": ocean(),
        **{f"arrays/{name}.npy": {"": array} for name, array in arrays().items()},
    }


def write_document(path, name, value):
    """A document of Zarr v2, as zarr-python 2 writes it."""
    os.makedirs(path, exist_ok=True)
    with open(f"{path}/{name}", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=4, sort_keys=True, separators=(",", ": "))


def write_climate(path):
    chunks = {"time": (24,), "lat": (45,), "lon": (90,), "t2m": (12, 45, 45), "rain": (6, 20, 40)}
    compressors = {"t2m": numcodecs.Blosc("lz4", clevel=5, shuffle=1), "rain": numcodecs.Zstd(3)}
    configs = {"t2m": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
               "rain": {"id": "zstd", "level": 3}}
    dimensions = {"time": ["time"], "lat": ["lat"], "lon": ["lon"]}
    attributes = {
        "time": {"units": "hours since 2024-01-01 00:00:00", "calendar": "standard", "standard_name": "time"},
        "lat": {"units": "degrees_north", "standard_name": "latitude"},
        "lon": {"units": "degrees_east", "standard_name": "longitude"},
        "t2m": {"units": "K", "standard_name": "air_temperature", "valid_range": [180.0, 330.0]},
        "rain": {"units": "mm", "long_name": "rain in six hours", "scale_factor": 0.1, "add_offset": 0.0},
    }
    documents = {".zgroup": {"zarr_format": 2},
                 ".zattrs": {"title": "Made-up climate", "Conventions": "CF-1.8", "realization": 1}}
    for name, data in climate().items():
        documents[f"{name}/.zarray"] = {
            "zarr_format": 2, "shape": data.shape, "chunks": chunks[name], "dtype": data.dtype.str, "order": "C",
            "compressor": configs.get(name), "filters": None, "fill_value": "NaN" if data.dtype.kind == "f" else 0}
        documents[f"{name}/.zattrs"] = {**attributes[name],
                                        "_ARRAY_DIMENSIONS": dimensions.get(name, ["time", "lat", "lon"])}
        os.makedirs(f"{path}/{name}")
        for index, chunk in zarr3.cut_into_chunks(data, chunks[name], np.nan if data.dtype.kind == "f" else 0):
            with open(f"{path}/{name}/{'.'.join(map(str, index))}", "wb") as file:
                file.write(compressors[name].encode(chunk) if name in compressors else chunk.tobytes())
    for name, value in documents.items():
        write_document(os.path.dirname(f"{path}/{name}"), os.path.basename(name), value)
    write_document(path, ".zmetadata", {"zarr_consolidated_format": 1, "metadata": documents})


def write_ocean(path):
    data = ocean()
    zarr3.write_group(path, {"title": "Made-up ocean", "Conventions": "CF-1.8"})
    for group, attributes in {"surface": {"source": "satellite"}, "profiles": {"source": "floats"},
                              "stations": {"source": "buoys"}}.items():
        zarr3.write_group(f"{path}/{group}", attributes)
    layouts = {
        "surface/lat": dict(chunks=(32,), codecs=[zarr3.BYTES], dimension_names=["lat"]),
        "surface/lon": dict(chunks=(64,), codecs=[zarr3.BYTES], dimension_names=["lon"]),
        "surface/sst": dict(
            chunks=(6, 32, 64), fill_value="NaN", dimension_names=["month", "lat", "lon"],
            codecs=[zarr3.sharding((3, 8, 16), [zarr3.BYTES, zarr3.zstd(3), zarr3.CRC32C])],
            attributes={"units": "degree_Celsius", "standard_name": "sea_surface_temperature"}),
        "profiles/depth": dict(chunks=(8,), codecs=[zarr3.BIG_BYTES], dimension_names=["depth"],
                               attributes={"units": "m", "positive": "down"}),
        "profiles/temperature": dict(
            chunks=(8, 16, 16), dimension_names=["depth", "y", "x"],
            codecs=[zarr3.transpose(1, 2, 0), zarr3.BYTES, zarr3.blosc("zstd", 5, "shuffle", 4)],
            attributes={"units": "degree_Celsius"}),
        "stations/observations": dict(
            chunks=(40,), codecs=[zarr3.BYTES, zarr3.gzip(5)], dimension_names=["report"],
            fill_value={"buoy": -1, "position": {"lat": "NaN", "lon": "NaN"}, "sst": "NaN", "quality": 255},
            attributes={"long_name": "buoy reports"}),
    }
    for name, layout in layouts.items():
        zarr3.write_array(f"{path}/{name}", data[name], **layout)
    zarr3.consolidate(path)


def write_arrays(path):
    os.makedirs(path)
    for name, array in arrays().items():
        np.save(f"{path}/{name}.npy", array)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    target = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "data")
    for name in ("climate.zarr", "ocean.zarr", "arrays"):
        shutil.rmtree(os.path.join(target, name), ignore_errors=True)
    os.makedirs(target, exist_ok=True)
    write_climate(os.path.join(target, "climate.zarr"))
    write_ocean(os.path.join(target, "ocean.zarr"))
    write_arrays(os.path.join(target, "arrays"))
    with open(os.path.join(target, "notes.txt"), "w", encoding="utf-8") as file:
        file.write(NOTES)


if __name__ == "__main__":
    main()
