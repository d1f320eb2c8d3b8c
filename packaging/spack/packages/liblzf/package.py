# SPDX-License-Identifier: MIT
#
# Spack itself has no liblzf. Its own makefile makes a static library only, which is enough.
import os

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Liblzf(MakefilePackage):
    """A very small compression library."""

    homepage = "http://oldhome.schmorp.de/marc/liblzf.html"
    url = "http://dist.schmorp.de/liblzf/liblzf-3.6.tar.gz"

    license("BSD-2-Clause")

    version("3.6", sha256="9c5de01f7b9ccae40c3f619d26a7abec9986c06c36d260c179cedd04b89fb46a")

    depends_on("c", type="build")

    def build(self, spec, prefix):
        compiler = Executable(spack_cc)
        for name in ("lzf_c", "lzf_d"):
            compiler("-O2", self.compiler.cc_pic_flag, "-c", f"{name}.c", "-o", f"{name}.o")
        which("ar")("rcs", "liblzf.a", "lzf_c.o", "lzf_d.o")

    def install(self, spec, prefix):
        mkdirp(prefix.lib, os.path.join(prefix.include, "liblzf"))
        install("liblzf.a", prefix.lib)
        install("lzf.h", os.path.join(prefix.include, "liblzf"))
