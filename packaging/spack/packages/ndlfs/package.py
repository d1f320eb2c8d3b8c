# SPDX-License-Identifier: MIT
#
#   spack repo add packaging/spack
#   spack dev-build ndlfs@0.2.0     in the unpacked sources
#
# Not tried with Spack itself: the file was compiled as Python, and cmake was run with these options.
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Ndlfs(CMakePackage):
    """Array stores (Zarr, HDF5, netCDF, NPY) as plain files, by FUSE."""

    homepage = "https://ndlfs.invalid/"
    url = "file:///usr/src/ndlfs-0.2.0.tar.gz"

    license("MIT AND GPL-2.0-or-later")

    version("0.2.0")

    variant("http", default=True, description="Read stores behind http, https and s3")
    variant("jemalloc", default=True, description="Use jemalloc for memory")
    variant("jpeg", default=True, description="Read pictures in JPEG")
    variant("jxl", default=True, description="Read pictures in JPEG XL")
    variant("lerc", default=True, description="Read pictures in LERC")
    variant("libpng", default=True, description="Read GRIB messages packed as PNG")
    variant("lzo", default=True, description="Read HDF5 chunks compressed with LZO (GPL)")
    variant("openjpeg", default=True, description="Read pictures and GRIB messages in JPEG 2000")
    variant("png", default=True, description="Show pictures of arrays")
    variant("seccomp", default=True, description="Refuse system calls that libeccodes does not need")
    variant("snappy", default=True, description="Read tables of Parquet compressed with snappy")
    variant("szip", default=True, description="Read chunks compressed with szip or CCSDS")
    variant("webp", default=True, description="Read pictures in WebP")
    variant("zfp", default=True, description="Read chunks compressed with zfp")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("bzip2")
    depends_on("c-blosc")
    depends_on("cli11")
    depends_on("expat@2.4:")
    depends_on("fmt")
    depends_on("libcap-ng")
    depends_on("libdeflate")
    depends_on("libfuse@3.10:")
    depends_on("liblzf")
    depends_on("lz4")
    depends_on("nlohmann-json")
    depends_on("spdlog")
    depends_on("tl-expected")
    depends_on("utf8proc")
    depends_on("xxhash")
    depends_on("xz")
    depends_on("yaml-cpp")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("curl@7.85:", when="+http")
    depends_on("openssl", when="+http")
    depends_on("libseccomp@2.5:", when="+seccomp")
    depends_on("jemalloc@5.3:", when="+jemalloc")
    depends_on("libaec", when="+szip")
    depends_on("libjpeg-turbo@2.1:", when="+jpeg")
    depends_on("libjxl@0.7:", when="+jxl")
    depends_on("liblerc", when="+lerc")
    depends_on("libpng@1.6:", when="+libpng")
    depends_on("lzo", when="+lzo")
    depends_on("openjpeg@2.5:", when="+openjpeg")
    depends_on("snappy", when="+snappy")
    depends_on("libwebp@1.2:", when="+webp")
    depends_on("zfp", when="+zfp")

    conflicts("platform=darwin", msg="ndlfs needs Linux")
    conflicts("platform=windows", msg="ndlfs needs Linux")
    conflicts("target=s390x:", msg="ndlfs needs a little-endian processor")

    generator("ninja")
    build_targets = ["ndlfs"]

    def cmake_args(self):
        options = {"HTTP": "http", "JEMALLOC": "jemalloc", "JPEG": "jpeg", "JXL": "jxl",
                   "LERC": "lerc", "LIBPNG": "libpng", "LZO": "lzo",
                   "OPENJPEG": "openjpeg", "PNG": "png", "SECCOMP": "seccomp", "SNAPPY": "snappy", "SZIP": "szip",
                   "WEBP": "webp", "ZFP": "zfp"}
        return [self.define_from_variant(f"NDLFS_WITH_{option}", variant) for option, variant in options.items()] + [
            self.define("NDLFS_BUILD_TESTS", False), self.define("NDLFS_UNITY", True)]
