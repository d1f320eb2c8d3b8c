#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes parameters.inc and the codes that mean them: what the parameters of GRIB messages are called.

    ./make_parameters.py

The facts are those of the WMO tables, of NCEP's local tables, and of ECMWF's tables of edition 1,
with the names that ecCodes has for them. Needs Debian's libeccodes-data.
"""

import pathlib
import re

FOLDER = "/usr/share/eccodes/definitions/"
FACTS = ("paramId", "shortName", "cfVarName", "name", "units", "cfName")
# Keys that may tell parameters of edition 2 apart.
KEYS = {
    "discipline",
    "parameterCategory",
    "parameterNumber",
    "typeOfFirstFixedSurface",
    "typeOfSecondFixedSurface",
    "typeOfStatisticalProcessing",
    "scaleFactorOfFirstFixedSurface",
    "scaledValueOfFirstFixedSurface",
}
# Of edition 1: WMO's table, and those of ECMWF that reanalyses and forecasts use.
WMO_TABLES = {"2", "3"}
ECMWF_TABLES = {"128", "162", "228", "235", "140"}


def entries(path):
    """(text, conditions) of each entry of a file of definitions, in its order."""
    try:
        text = open(FOLDER + path, encoding="utf-8", errors="replace").read()
    except FileNotFoundError:
        return
    for match in re.finditer(r"^'(.*?)'\s*=\s*\{(.*?)\}", text, re.S | re.M):
        pairs = (part.split("#")[0].partition("=") for part in match.group(2).split(";"))
        yield match.group(1), tuple(sorted((k.strip(), v.strip()) for k, _, v in pairs if k.strip()))


def load(folder):
    """Conditions, and the facts about what has them."""
    facts = {}
    for fact in FACTS:
        for text, conditions in entries(f"{folder}/{fact}.def"):
            facts.setdefault(conditions, {})[fact] = text
    return facts


def text(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


PARAMETERS = {}


def add_cf_names(facts):
    """CF names have conditions of their own, often fewer: those of most that hold count."""
    named = [(set(c), f["cfName"]) for c, f in facts.items() if "cfName" in f]
    for conditions, known in facts.items():
        holding = [(len(c), name) for c, name in named if c <= set(conditions)]
        if holding and "shortName" in known:
            known["cfName"] = max(holding)[1]
    return facts



def parameter(facts):
    """The number of the parameter, or None if it has no name."""
    name = facts.get("shortName", "~")
    if name in ("~", "unknown") or "paramId" not in facts:
        return None
    number = int(facts["paramId"])
    variable = facts.get("cfVarName", name)
    if re.fullmatch(r"p\d+", variable):
        variable = name  # a number says nothing
    known = PARAMETERS.setdefault(number, ["", "", "", "", ""])
    if not known[0] or not known[4]:
        cf_name = facts.get("cfName", "")
        PARAMETERS[number] = [
            name,
            "" if variable in (name, "unknown", "~") else variable,
            facts.get("name", name),
            facts.get("units", "").replace("~", ""),
            "" if cf_name in ("unknown", "~") else cf_name,
        ]
    return number


def edition2(folder, centre):
    rows = set()
    for conditions, facts in add_cf_names(load(folder)).items():
        given = dict(conditions)
        if not given.keys() <= KEYS or int(given["discipline"]) > 20:
            continue
        if given.get("scaledValueOfFirstFixedSurface", "0") == "missing()":
            given.pop("scaledValueOfFirstFixedSurface")
            given.pop("scaleFactorOfFirstFixedSurface", None)
        number = parameter(facts)
        if number is None:
            continue
        level = -1
        if "scaledValueOfFirstFixedSurface" in given:
            factor = int(given.get("scaleFactorOfFirstFixedSurface", 0))
            level = int(given["scaledValueOfFirstFixedSurface"])
            while factor > 0 and level % 10 == 0:
                factor, level = factor - 1, level // 10
            if factor < 0:
                factor, level = 0, level * 10**-factor
            if factor != 0:
                continue
        get = lambda key: int(given.get(key, 254))
        rows.add((
            int(given["discipline"]), int(given["parameterCategory"]),
            int(given["parameterNumber"]), centre, get("typeOfFirstFixedSurface"), level,
            get("typeOfSecondFixedSurface"), get("typeOfStatisticalProcessing"), number,
        ))
    return rows


def edition1(folder, tables, centre):
    for conditions, facts in load(folder).items():
        given = dict(conditions)
        if given.keys() != {"indicatorOfParameter", "table2Version"}:
            continue
        if given["table2Version"] not in tables:
            continue
        number = parameter(facts)
        if number is not None:
            yield centre, int(given["table2Version"]), int(given["indicatorOfParameter"]), number


def write(name, lines):
    with open(pathlib.Path(__file__).parent / name, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


def joined(rows):
    """Lines with several rows each."""
    line = ""
    for item in (f"{{{','.join(map(str, row))}}}," for row in rows):
        if len(line) + len(item) > 96:
            yield line
            line = ""
        line += item
    yield line


def main():
    general, ncep = edition2("grib2", 0), edition2("grib2/localConcepts/kwbc", 7)
    ecmwf = edition2("grib2/localConcepts/ecmf", 98)
    # Numbers below 192 are the WMO's, whoever lists them.
    named = {row[:3] for row in general if row[4:8] == (254, -1, 254, 254)}
    others = {row[:3] + (0,) + row[4:] for row in ncep
              if row[:3] not in named and max(row[:3]) < 192}
    second = sorted(general | ncep | ecmwf | others)
    first = sorted(set(edition1("grib1", WMO_TABLES, 0)) | set(
        edition1("grib1/localConcepts/ecmf", ECMWF_TABLES, 98)))
    write("parameters.inc", (f"{{{number}, {', '.join(text(fact) for fact in facts)}}},"
                             for number, facts in sorted(PARAMETERS.items())))
    write("edition2_codes.inc", joined(second))
    write("edition1_codes.inc", joined(first))


main()
