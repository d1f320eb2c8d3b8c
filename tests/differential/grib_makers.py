# SPDX-License-Identifier: MIT
"""Files of GRIB messages, as ecCodes writes and reads them: grids, packings, bitmaps, and messages that are the levels,
steps and members of arrays, some of which are missing."""
import itertools

import numpy as np

import eccodes_calls as eccodes
from arrays import Array

GRIDS = {"regular_ll": "regular_ll_pl", "rotated_ll": "rotated_ll_pl", "regular_gg": "regular_gg_pl", "reduced_gg": "reduced_gg_pl_32",
         "polar": "polar_stereographic_pl", "lambert": "lambert", "mercator": "mercator"}
# Not grid_png: ecCodes 2.28 aborts where a picture is larger than its numbers.
PACKINGS = {1: ("grid_simple", "grid_second_order"),
            2: ("grid_simple", "grid_complex", "grid_complex_spatial_differencing", "grid_ccsds", "grid_jpeg", "grid_ieee")}
# Short names, and the types of levels that they are on.
PARAMETERS = {"t": "isobaricInhPa", "u": "isobaricInhPa", "q": "isobaricInhPa", "2t": "heightAboveGround", "msl": "meanSea", "sp": "surface"}
MISSING = 9999.0


def set_grid(d, message, edition):
    """The message's grid, small; how many points it has, and their shape."""
    grid = d.said["grid"]
    put = lambda **keys: [eccodes.codes_set(message, key, value) for key, value in keys.items()]
    rows, columns = d.whole("rows", 2, 9), d.whole("columns", 2, 9)
    if grid == "reduced_gg":
        half = d.whole("half of the circles", 1, 4)
        lengths = [d.whole(f"circle {row}", 2, 9) for row in range(half)]
        put(N=half, Nj=2 * half)
        put_circles(message, half)
        eccodes.codes_set_array(message, "pl", [*lengths, *lengths[::-1]])
        return (2 * sum(lengths),)
    if grid == "regular_gg":
        half, columns = d.whole("half of the circles", 1, 4), d.whole("columns of the globe", 6, 12)
        put(N=half, Ni=columns, Nj=2 * half)
        put_circles(message, half)
        put(iDirectionIncrementInDegrees=360 / columns, longitudeOfFirstGridPointInDegrees=0,
            longitudeOfLastGridPointInDegrees=360 - 360 / columns)
        return 2 * half, columns
    if grid in ("regular_ll", "rotated_ll"):
        step = d.pick("step", 1.0, 0.5, 0.25)
        north, west = d.pick("north", 60.0, 2.0), d.pick("west", 0.0, 350.0, 10.5)
        is_up = d.chance("rows to the north", .3)
        first, last = (north - step * (rows - 1), north) if is_up else (north, north - step * (rows - 1))
        put(Ni=columns, Nj=rows, iDirectionIncrementInDegrees=step, jDirectionIncrementInDegrees=step, jScansPositively=int(is_up),
            latitudeOfFirstGridPointInDegrees=first, latitudeOfLastGridPointInDegrees=last,
            longitudeOfFirstGridPointInDegrees=west, longitudeOfLastGridPointInDegrees=(west + step * (columns - 1)) % 360)
        return rows, columns
    put(**({"Ni": columns, "Nj": rows} if grid == "mercator" else {"Nx": columns, "Ny": rows}))
    put(jScansPositively=int(not d.chance("rows to the south", .3)))
    return rows, columns


def put_circles(message, half):
    """The latitudes of a Gaussian grid."""
    north = float(eccodes.codes_get_gaussian_latitudes(half)[0])
    eccodes.codes_set(message, "latitudeOfFirstGridPointInDegrees", north)
    eccodes.codes_set(message, "latitudeOfLastGridPointInDegrees", -north)


def sample(d, edition):
    grid = d.said["grid"]
    if grid in ("lambert", "mercator"):
        message = eccodes.codes_grib_new_from_samples(f"polar_stereographic_pl_grib{edition}")
        eccodes.codes_set(message, "gridType", grid)
        if grid == "lambert":
            for key, value in (("Latin1InDegrees", 40.0), ("Latin2InDegrees", 50.0), ("LaDInDegrees", 45.0), ("LoVInDegrees", 250.0)):
                if edition == 2 or key != "LaDInDegrees":
                    eccodes.codes_set(message, key, value)
        return message
    return eccodes.codes_grib_new_from_samples(f"{GRIDS[grid]}_grib{edition}")


def draw_values(d, shape, step):
    r = d.random(f"values {step}")
    kind = d.pick("values", "waves", "noise", "constant", "whole")
    if kind == "constant":
        return np.full(shape, float(r.integers(-5, 300)))
    if kind == "noise":
        return 250 + 10 * r.normal(size=shape)
    if kind == "whole":
        return r.integers(0, 100, shape).astype("f8")
    points = np.arange(int(np.prod(shape))).reshape(shape)
    return 250 + 20 * np.sin(points / 7 + r.normal()) + r.normal() * .1


def make_grib(d, path):
    """What ecCodes reads of the messages is what the arrays have."""
    edition = d.pick("edition", 2, 1)
    d.pick("grid", *GRIDS)
    packing = d.pick("packing", *PACKINGS[edition])
    members, steps = d.whole("members", 1, 3), d.whole("steps", 1, 3)
    taken = set()
    with open(path, "wb") as file:
        for name, part in d.parts("v", 1, 3).items():
            parameter = part.pick("parameter", *PARAMETERS)
            kind = PARAMETERS[parameter]
            levels = {"isobaricInhPa": [1000, 850, 500][:part.whole("levels", 1, 3)], "heightAboveGround": [2]}.get(kind, [0])
            if parameter in taken:
                continue
            taken.add(parameter)
            for number, step, level in itertools.product(range(members), range(steps), levels):
                is_first = (number, step, level) == (0, 0, levels[0])
                if not is_first and part.random(f"left out {number} {step} {level}").random() < .1 * d.chance("some left out", .3):
                    continue
                message = sample(d, edition)
                shape = set_grid(d, message, edition)
                if members > 1 and edition == 2:
                    eccodes.codes_set(message, "productDefinitionTemplateNumber", 1)
                if members > 1:
                    if edition == 1:
                        eccodes.codes_set(message, "setLocalDefinition", 1)
                        eccodes.codes_set(message, "localDefinitionNumber", 1)
                        eccodes.codes_set(message, "numberOfForecastsInEnsemble", members)
                    eccodes.codes_set(message, "perturbationNumber", number)
                eccodes.codes_set(message, "shortName", parameter)
                eccodes.codes_set(message, "typeOfLevel", kind)
                eccodes.codes_set(message, "level", level)
                eccodes.codes_set(message, "step", 6 * step)
                values = draw_values(part, shape, (number, step, level)).ravel()
                if d.chance("points are missing", .3):
                    eccodes.codes_set(message, "bitmapPresent", 1)
                    eccodes.codes_set(message, "missingValue", MISSING)
                    values[part.random(f"missing {number} {step} {level}").random(values.size) < .3] = MISSING
                eccodes.codes_set(message, "packingType", "grid_simple")
                eccodes.codes_set(message, "bitsPerValue", d.pick("bits", 16, 8, 12, 24, 1))
                eccodes.codes_set_values(message, values)
                try:
                    eccodes.codes_set(message, "packingType", packing)
                except eccodes.CodesInternalError:
                    pass  # These numbers cannot be packed so.
                eccodes.codes_write(message, file)
                eccodes.codes_release(message)
    return read_grib(path)


def read_grib(path):
    fields, places = {}, {}
    for message in eccodes.codes_messages(path):
        get = lambda key: eccodes.codes_get(message, key)
        name = f"{get('typeOfLevel')}/{get('stepType')}/{get('cfVarName')}"
        eccodes.codes_set(message, "missingValue", MISSING)
        values = eccodes.codes_get_values(message)
        values = np.where(values == MISSING, np.nan, values) if get("bitmapPresent") else values
        if get("gridType") != "reduced_gg":
            values = values.reshape(get("Nj"), get("Ni"))
        place = (get("perturbationNumber") if eccodes.codes_is_defined(message, "perturbationNumber") else 0, get("step"), get("level"))
        fields.setdefault(name, {})[place] = values
        # ecCodes 2.28 takes the rows of a map from the south on, whatever the message says.
        is_map = get("gridType") in ("polar_stereographic", "lambert", "mercator") and not get("jScansPositively")
        for axis in ("latitude", "longitude") if not is_map else ():
            try:
                places[name.rpartition("/")[0] + "/" + axis] = eccodes.codes_get_array(message, axis + "s").reshape(values.shape)
            except eccodes.CodesInternalError:
                pass  # ecCodes cannot compute them.
    arrays = {}
    for name, messages in fields.items():
        sides = [sorted({place[axis] for place in messages}) for axis in range(3)]
        if name.startswith("isobaric"):
            sides[2].reverse()  # from the ground up
        grid = next(iter(messages.values())).shape
        stored = np.full((*map(len, sides), *grid), np.nan)
        for place, values in messages.items():
            stored[tuple(side.index(at) for side, at in zip(sides, place))] = values
        arrays[name] = Array(stored.reshape(*(len(side) for side in sides if len(side) > 1), *grid), is_computed=True)
    for name, degrees in places.items():
        if name.endswith("longitude"):
            # A pole has any longitude.
            degrees = np.where(np.abs(places[name.replace("longitude", "latitude")]) > 89.99, np.nan, degrees)
        arrays[name] = Array(degrees, is_computed=True, is_optional=True)
    return arrays
