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
PARAMETERS = {"t": "isobaricInhPa", "u": "isobaricInhPa", "q": "isobaricInhPa", "2t": "heightAboveGround", "msl": "meanSea", "sp": "surface",
              "v": "hybrid", "tp": "surface", "ssr": "surface"}
# What is accumulated over an interval. Not maxima: for ecCodes 2.28 they have no name in edition 2, and are any range in edition 1.
INTERVALS = {"tp": "accum", "ssr": "accum"}
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
        east = (west + step * (columns - 1)) % 360
        is_left = d.chance("to the west", .2)
        west, east = (east, west) if is_left else (west, east)
        put(Ni=columns, Nj=rows, iDirectionIncrementInDegrees=step, jDirectionIncrementInDegrees=step, jScansPositively=int(is_up),
            latitudeOfFirstGridPointInDegrees=first, latitudeOfLastGridPointInDegrees=last, iScansNegatively=int(is_left),
            longitudeOfFirstGridPointInDegrees=west, longitudeOfLastGridPointInDegrees=east)
        put_order(d, message, edition)
        return rows, columns
    put(**({"Ni": columns, "Nj": rows} if grid == "mercator" else {"Nx": columns, "Ny": rows}))
    put(jScansPositively=int(not d.chance("rows to the south", .3)))
    put_order(d, message, edition)
    return rows, columns


def put_order(d, message, edition):
    eccodes.codes_set(message, "jPointsAreConsecutive", int(d.chance("column after column", .3)))
    if edition == 2:
        eccodes.codes_set(message, "alternativeRowScanning", int(d.chance("every other line turned", .3)))


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


def sections(message):
    """Of edition 2: {number: bytes} of sections 1 to 7."""
    found, at = {}, 16
    while message[at:at + 4] != b"7777":
        size = int.from_bytes(message[at:at + 4], "big")
        found[message[at + 4]] = message[at:at + size]
        at += size
    return found


def joined(d, messages):
    """Messages of one parameter as one, if their times are the same; with the grid again, or not."""
    fields = [sections(message) for message in messages]
    if len({field[1] for field in fields}) > 1 or len({field[3] for field in fields}) > 1:
        return b"".join(messages)
    first = 3 if d.chance("grid again", .3) else 4
    body = b"".join(field.get(number, b"") for i, field in enumerate(fields) for number in range(first if i else 1, 8))
    return messages[0][:8] + (16 + len(body) + 4).to_bytes(8, "big") + body + b"7777"


def make_grib(d, path):
    """What ecCodes reads of the messages is what the arrays have."""
    edition = d.pick("edition", 2, 1)
    d.pick("grid", *GRIDS)
    packing = d.pick("packing", *PACKINGS[edition])
    members, steps, dates = d.whole("members", 1, 3), d.whole("steps", 1, 3), d.whole("dates", 1, 2)
    taken = set()
    with open(path, "wb") as file:
        for part in d.parts("v", 1, 3).values():
            parameter = part.pick("parameter", *PARAMETERS)
            levels = {"isobaricInhPa": [1000, 850, 500], "heightAboveGround": [2], "hybrid": [1, 2, 9]}.get(PARAMETERS[parameter], [0])
            levels = levels[:part.whole("levels", 1, len(levels))]
            if parameter in taken:
                continue
            taken.add(parameter)
            messages = []
            for place in itertools.product(range(members), range(dates), range(steps), levels):
                is_left_out = part.random(f"left out {place}").random() < .1 * d.chance("some left out", .3)
                if messages and is_left_out:
                    continue
                messages.append(make_message(d, part, parameter, edition, packing, members, place))
            is_one = edition == 2 and part.chance("in one message", .2)
            file.write(joined(part, messages) if is_one else b"".join(messages))
    return read_grib(path)


def make_message(d, part, parameter, edition, packing, members, place):
    number, date, step, level = place
    message = sample(d, edition)
    put = lambda key, value: eccodes.codes_set(message, key, value)
    shape = set_grid(d, message, edition)
    process = INTERVALS.get(parameter)
    if edition == 2 and (members > 1 or process):
        put("productDefinitionTemplateNumber", {(True, False): 1, (False, True): 8, (True, True): 11}[(members > 1, bool(process))])
    if members > 1:
        if edition == 1:
            put("setLocalDefinition", 1)
            put("localDefinitionNumber", 1)
            put("numberOfForecastsInEnsemble", members)
        put("perturbationNumber", number)
    put("dataDate", 20240228 + date)
    if process and edition == 2:
        put("typeOfStatisticalProcessing", 1)
    put("shortName", parameter)
    put("typeOfLevel", PARAMETERS[parameter])
    put("level", level)
    if process:
        put("stepType", process)
        put("stepRange", f"{0 if part.chance('since the beginning', .5) else 6 * step}-{6 * step + 6}")
    else:
        put("step", 6 * step)
    values = draw_values(part, shape, place).ravel()
    if d.chance("points are missing", .3):
        put("bitmapPresent", 1)
        put("missingValue", MISSING)
        values[part.random(f"missing {place}").random(values.size) < .3] = MISSING
    put("packingType", "grid_simple")
    put("bitsPerValue", d.pick("bits", 16, 8, 12, 24, 1))
    eccodes.codes_set_values(message, values)
    try:
        put("packingType", packing)
    except eccodes.CodesInternalError:
        pass  # These numbers cannot be packed so.
    made = eccodes.codes_get_message(message)
    eccodes.codes_release(message)
    return made


def turned(get, values):
    """By flag 4 of table 3.4, which ecCodes 2.28 leaves to the reader in edition 2 (the places of the points are not turned)."""
    if get("edition") == 1 or not get("alternativeRowScanning"):
        return values
    values = values.reshape((get("Ni"), get("Nj")) if get("jPointsAreConsecutive") else (get("Nj"), get("Ni"))).copy()
    values[1::2] = values[1::2, ::-1]
    return values.ravel()


def in_rows(get, points):
    if get("gridType") == "reduced_gg":
        return points
    return points.reshape(get("Ni"), get("Nj")).T if get("jPointsAreConsecutive") else points.reshape(get("Nj"), get("Ni"))


def read_grib(path):
    fields, places = {}, {}
    for message in eccodes.codes_messages(path):
        get = lambda key: eccodes.codes_get(message, key)
        name = f"{get('typeOfLevel')}/{get('stepType')}/{get('cfVarName')}"
        eccodes.codes_set(message, "missingValue", MISSING)
        values = eccodes.codes_get_values(message)
        values = np.where(values == MISSING, np.nan, values) if get("bitmapPresent") else values
        if get("gridType") != "reduced_gg":
            values = in_rows(get, turned(get, values))
        place = (get("perturbationNumber") if eccodes.codes_is_defined(message, "perturbationNumber") else 0, get("dataDate"), get("endStep"), get("level"))
        fields.setdefault(name, {})[place] = values
        # ecCodes 2.28 takes the rows of a map from the south on, whatever the message says.
        is_map = get("gridType") in ("polar_stereographic", "lambert", "mercator") and not (get("jScansPositively") and not get("jPointsAreConsecutive"))
        for axis in ("latitude", "longitude") if not is_map else ():
            try:
                places[name.rpartition("/")[0] + "/" + axis] = in_rows(get, eccodes.codes_get_array(message, axis + "s"))
            except eccodes.CodesInternalError:
                pass  # ecCodes cannot compute them.
    arrays = {}
    for name, messages in fields.items():
        sides = [sorted({place[axis] for place in messages}) for axis in range(4)]
        if name.startswith("isobaric"):
            sides[3].reverse()  # from the ground up
        grid = next(iter(messages.values())).shape
        stored = np.full((*map(len, sides), *grid), np.nan)
        for place, values in messages.items():
            stored[tuple(side.index(at) for side, at in zip(sides, place))] = values
        dims = [dim for dim, side in zip(("number", "time", "step", "level"), sides) if len(side) > 1]
        arrays[name] = Array(stored.reshape(*(len(side) for side in sides if len(side) > 1), *grid), dims, is_computed=True)
    for name, degrees in places.items():
        if name.endswith("longitude"):
            # A pole has any longitude.
            degrees = np.where(np.abs(places[name.replace("longitude", "latitude")]) > 89.99, np.nan, degrees)
        arrays[name] = Array(degrees, is_computed=True, is_optional=True)
    return arrays
