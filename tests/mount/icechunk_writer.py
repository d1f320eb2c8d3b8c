# SPDX-License-Identifier: MIT
"""Writes small Icechunk repositories (versions 1 and 2), with flatc and the schemas of the reader."""
import json
import os
import subprocess
import tempfile

SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "backends", "format", "icechunk")
KINDS = {"snapshot": 1, "manifest": 2, "repo": 6}
DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}


def id_bytes(number, size=12):
    return list(number.to_bytes(size, "big"))


def id_text(number):
    bits = "".join(f"{byte:08b}" for byte in id_bytes(number)) + "0000"
    return "".join(DIGITS[int(bits[at:at + 5], 2)] for at in range(0, 100, 5))


def payload(kind, tree):
    """The FlatBuffer of a tree as in JSON."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "tree.json")
        with open(source, "w") as file:
            json.dump(tree, file)
        subprocess.run(["flatc", "--binary", "-o", folder, os.path.join(SCHEMAS, f"{kind}.fbs"), source], check=True,
                       stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "tree.bin"), "rb") as file:
            return file.read()


def file_of(kind, contents, version=2):
    """A metadata file with this payload, not compressed."""
    header = b"ICE\xf0\x9f\xa7\x8aCHUNK" + b"ndlfs tests".ljust(24) + bytes([version, KINDS[kind], 0])
    return header + contents


def array_document(values, rows):
    return {"zarr_format": 3, "node_type": "array", "shape": list(values.shape), "data_type": str(values.dtype),
            "fill_value": 7, "attributes": {}, "chunk_key_encoding": {"name": "default"},
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [rows, *values.shape[1:]]}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}


def node(path, number, document, manifests=None):
    """A group, or with `manifests` an array: their ids and extents."""
    data = {"shape": [], "manifests": [
        {"object_id": {"bytes": id_bytes(manifest)}, "extents": [{"from": begin, "to": end} for begin, end in extents]}
        for manifest, extents in manifests or []]}
    return {"id": {"bytes": id_bytes(number, 8)}, "path": path, "user_data": list(json.dumps(document).encode()),
            "node_data_type": "Group" if manifests is None else "Array", "node_data": {} if manifests is None else data}


class Repository:
    def __init__(self, path, version=2):
        self.path = path
        self.version = version
        self.next = 1000
        self.snapshots = []  # (id, parent, microseconds)
        self.branches = {}  # indexes of snapshots
        self.tags = {}
        self.deleted_tags = []
        self.status = {"availability": 0}

    def write(self, name, contents):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "wb") as file:
            file.write(contents)
        os.replace(path + ".new", path)

    def new_id(self):
        self.next += 1
        return self.next

    def write_manifest(self, references, node_id=2):
        """References of one array; returns the id."""
        number = self.new_id()
        tree = {"id": {"bytes": id_bytes(number)},
                "arrays": [{"node_id": {"bytes": id_bytes(node_id, 8)}, "refs": references}]}
        self.write("manifests/" + id_text(number), file_of("manifest", payload("manifest", tree), self.version))
        return number

    def write_chunk(self, contents):
        number = self.new_id()
        self.write("chunks/" + id_text(number), contents)
        return number

    def write_snapshot(self, nodes, branch="main"):
        number = self.new_id()
        tree = {"id": {"bytes": id_bytes(number)}, "nodes": nodes, "message": "", "metadata": [], "manifest_files": []}
        if self.version == 1 and branch in self.branches:
            tree["parent_id"] = {"bytes": id_bytes(self.snapshots[self.branches[branch]][0])}
        self.write("snapshots/" + id_text(number), file_of("snapshot", payload("snapshot", tree), self.version))
        return number

    def references(self, values, rows):
        """Of the chunks along the first dimension of `values`, each in a file of its own."""
        found = []
        for begin in range(0, len(values), rows):
            contents = values[begin:begin + rows].tobytes()
            contents += bytes(rows * values[:1].nbytes - len(contents))  # chunks are whole
            found.append({"index": [begin // rows] + [0] * (values.ndim - 1), "length": len(contents),
                          "chunk_id": {"bytes": id_bytes(self.write_chunk(contents))}})
        return found

    def commit(self, values, rows, branch="main", name="v"):
        """A snapshot with the one array `name`, at the end of `branch`; returns its index."""
        manifest = self.write_manifest(self.references(values, rows))
        extents = [[0, -(-len(values) // rows)]] + [[0, 1]] * (values.ndim - 1)
        nodes = [node("/", 1, GROUP), node("/" + name, 2, array_document(values, rows), [(manifest, extents)])]
        return self.add(self.write_snapshot(nodes, branch), branch)

    def add(self, snapshot, branch="main"):
        parent = self.branches.get(branch, -1)
        self.snapshots.append((snapshot, parent, 1_700_000_000_000_000 + 1_000_000 * len(self.snapshots)))
        self.branches[branch] = len(self.snapshots) - 1
        self.write_refs()
        return len(self.snapshots) - 1

    def write_refs(self):
        if self.version == 2:
            return self.write_repo()
        for kind, names in ("branch", self.branches), ("tag", self.tags):
            for name, index in names.items():
                self.write(f"refs/{kind}.{name}/ref.json",
                           json.dumps({"snapshot": id_text(self.snapshots[index][0])}).encode())
        return None

    def write_repo(self):
        refs = [[{"name": name, "snapshot_index": index} for name, index in sorted(names.items())]
                for names in (self.tags, self.branches)]
        tree = {"spec_version": 2, "tags": refs[0], "branches": refs[1], "deleted_tags": self.deleted_tags,
                "snapshots": [{"id": {"bytes": id_bytes(number)}, "parent_offset": parent, "flushed_at": time,
                               "message": f"snapshot {at}"}
                              for at, (number, parent, time) in enumerate(self.snapshots)],
                "status": self.status}
        self.write("repo", file_of("repo", payload("repo", tree)))
