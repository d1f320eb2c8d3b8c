// SPDX-License-Identifier: MIT
#include "backends/library_versions.h"

#include <blosc.h>
#include <bzlib.h>
#include <expat.h>
#include <fmt/format.h>
#include <libdeflate.h>
#include <liblzf/lzf.h>
#include <lz4.h>
#include <lzma.h>
#include <openssl/crypto.h>
#include <utf8proc.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>
#if NDLFS_WITH_HTTP
#include <curl/curl.h>
#endif
#if NDLFS_WITH_JXL
#include <jxl/decode.h>
#endif
#if NDLFS_WITH_LERC
#include <Lerc_c_api.h>
#endif
#if NDLFS_WITH_LIBPNG
#include <png.h>
#endif
#if NDLFS_WITH_LZO
#include <lzo/lzoconf.h>
#endif
#if NDLFS_WITH_OPENJPEG
#include <openjpeg.h>
#endif
#if NDLFS_WITH_SECCOMP
#include <seccomp.h>
#endif
#if NDLFS_WITH_SNAPPY
#include <snappy-stubs-public.h>
#endif
#if NDLFS_WITH_WEBP
#include <webp/decode.h>
#endif
#if NDLFS_WITH_ZFP
#include <zfp.h>
#endif
#if NDLFS_WITH_JPEG
// clang-format off: jpeglib.h needs FILE.
#include <jpeglib.h>

#include <cstdio>
// clang-format on
#endif

#include <string_view>

namespace ndlfs::backends {
namespace {

// "name 1.2.3" of a number whose parts go up to `base`.
std::string VersionOf(std::string_view name, unsigned version, unsigned base) {
  return fmt::format("{} {}.{}.{}", name, version / base / base, version / base % base,
                     version % base);
}

#if NDLFS_WITH_ZFP
std::string ZfpVersion() {
  const unsigned version = zfp_library_version;
  return fmt::format("zfp {}.{}.{}", version >> 12, version >> 8 & 0xf, version >> 4 & 0xf);
}
#endif

#if NDLFS_WITH_SECCOMP
std::string SeccompVersion() {
  const scmp_version& version = *seccomp_version();
  return fmt::format("libseccomp {}.{}.{}", version.major, version.minor, version.micro);
}
#endif

}  // namespace

std::vector<std::string> LibraryVersions() {
  // "1.0.8, 13-Jul-2019"
  const std::string_view bzip2 = BZ2_bzlibVersion();
  // "expat_2.5.0"
  const std::string_view expat = XML_ExpatVersion();
  return {
    fmt::format("blosc {}", blosc_get_version_string()),
        fmt::format("bzip2 {}", bzip2.substr(0, bzip2.find(','))),
        fmt::format("expat {}", expat.substr(expat.find('_') + 1)),
#if NDLFS_WITH_SZIP
        "libaec",  // it tells no version
#endif
        "libcap-ng",  // nor does it
#if NDLFS_WITH_HTTP
        fmt::format("libcurl {}", curl_version_info(CURLVERSION_NOW)->version),
#endif
        fmt::format("libdeflate {}", LIBDEFLATE_VERSION_STRING),  // it has no run-time one
#if NDLFS_WITH_JPEG
        // It has no run-time one.
        fmt::format("libjpeg (API {}, libjpeg-turbo {})", JPEG_LIB_VERSION,
                    LIBJPEG_TURBO_VERSION_NUMBER),
#endif
#if NDLFS_WITH_JXL
        VersionOf("libjxl", JxlDecoderVersion(), 1000),
#endif
#if NDLFS_WITH_LERC
        VersionOf("liblerc", LERC_VERSION_NUMBER, 100),
#endif
        fmt::format("liblzf (API {}.{})", LZF_VERSION >> 8, LZF_VERSION & 0xff),
        fmt::format("liblzma {}", lzma_version_string()),
#if NDLFS_WITH_LIBPNG
        fmt::format("libpng {}", png_get_libpng_ver(nullptr)),
#endif
#if NDLFS_WITH_SECCOMP
        SeccompVersion(),
#endif
        fmt::format("lz4 {}", LZ4_versionString()),
#if NDLFS_WITH_LZO
        fmt::format("lzo {}", ::lzo_version_string()),
#endif
#if NDLFS_WITH_OPENJPEG
        fmt::format("openjpeg {}", opj_version()),
#endif
        fmt::format("openssl {}", OpenSSL_version(OPENSSL_VERSION_STRING)),
#if NDLFS_WITH_SNAPPY
        fmt::format("snappy {}.{}.{}", SNAPPY_MAJOR, SNAPPY_MINOR, SNAPPY_PATCHLEVEL),
#endif
        fmt::format("utf8proc {}", utf8proc_version()),
#if NDLFS_WITH_WEBP
        fmt::format("webp {}.{}.{}", WebPGetDecoderVersion() >> 16,
                    WebPGetDecoderVersion() >> 8 & 0xff, WebPGetDecoderVersion() & 0xff),
#endif
        VersionOf("xxhash", XXH_versionNumber(), 100),
        "yaml-cpp " NDLFS_YAML_CPP_VERSION,  // it has no run-time one
#if NDLFS_WITH_ZFP
        ZfpVersion(),
#endif
        fmt::format("zlib {}", ::zlibVersion()), fmt::format("zstd {}", ZSTD_versionString()),
  };
}

}  // namespace ndlfs::backends
