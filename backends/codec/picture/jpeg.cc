// SPDX-License-Identifier: MIT
//
// JPEG by libjpeg(-turbo), decoded as libtiff does: the exact integer transform, and colours
// that are interpolated.
#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include "backends/base/checked.h"
#include "backends/codec/picture/decoders.h"

// clang-format off: jerror.h needs jpeglib.h, and that needs FILE.
#include <jerror.h>
#include <jpeglib.h>
// clang-format on

namespace ndlfs::backends {
namespace {

// Scans of a progressive picture, each of which goes through all of it.
constexpr int kMostJpegScans = 100;

// What libjpeg's callbacks see. Errors jump out of the library: it is written for that, and has
// no other way. So that nothing is left undestroyed, functions that are jumped out of have only
// trivial objects.
struct JpegRun {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf back{};
  char message[JMSG_LENGTH_MAX] = {};
};

JpegRun& RunOf(j_common_ptr info) { return *static_cast<JpegRun*>(info->client_data); }

[[noreturn]] void LeaveJpeg(j_common_ptr info) {
  JpegRun& run = RunOf(info);
  info->err->format_message(info, run.message);
  std::longjmp(run.back, 1);  // NOLINT(cert-err52-cpp): see JpegRun
}

// Warnings say that the library guesses what the samples may have been.
void WarnOfJpeg(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  const bool is_harmless =
      code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR;
  if (level < 0 && !is_harmless) LeaveJpeg(info);
}

void IgnoreJpeg(j_common_ptr) {}

void CountJpegScans(j_common_ptr info) {
  const auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
  if (decompress->input_scan_number <= kMostJpegScans) return;
  info->err->msg_code = JERR_BAD_PROGRESSION;
  LeaveJpeg(info);
}

void FeedJpeg(JpegRun& run, ConstByteSpan data) {
  jpeg_mem_src(&run.info, reinterpret_cast<const unsigned char*>(data.data()), data.size());
}

// `most`: bytes of memory for the library, which keeps all of a progressive picture.
bool StartJpeg(JpegRun& run, ConstByteSpan tables, ConstByteSpan picture, uint64_t most) {
  if (setjmp(run.back) != 0) return false;  // NOLINT(cert-err52-cpp): see JpegRun
  jpeg_create_decompress(&run.info);
  run.info.progress = &run.progress;
  run.info.mem->max_memory_to_use = static_cast<long>(most);
  if (!tables.empty()) {
    FeedJpeg(run, tables);
    if (jpeg_read_header(&run.info, FALSE) != JPEG_HEADER_TABLES_ONLY) return false;
  }
  FeedJpeg(run, picture);
  return jpeg_read_header(&run.info, TRUE) == JPEG_HEADER_OK;
}

void ChooseColours(PictureRule::Colours colours, jpeg_decompress_struct& info) {
  if (colours == PictureRule::Colours::kFromYCbCr) {
    info.jpeg_color_space = JCS_YCbCr;
    info.out_color_space = JCS_RGB;
  } else if (colours == PictureRule::Colours::kAsStored) {
    info.jpeg_color_space = JCS_UNKNOWN;
    info.out_color_space = JCS_UNKNOWN;
  }
}

bool ReadJpegRows(JpegRun& run, uint64_t row_bytes, ByteSpan out) {
  if (setjmp(run.back) != 0) return false;  // NOLINT(cert-err52-cpp): see JpegRun
  run.info.dct_method = JDCT_ISLOW;
  run.info.do_fancy_upsampling = TRUE;
  if (jpeg_start_decompress(&run.info) == FALSE) return false;
  while (uint64_t{run.info.output_scanline} * row_bytes < out.size()) {
    auto* row =
        reinterpret_cast<JSAMPROW>(out.data() + uint64_t{run.info.output_scanline} * row_bytes);
    if (jpeg_read_scanlines(&run.info, &row, 1) != 1) return false;
  }
  return true;
}

// Frees what libjpeg has allocated.
class JpegOwner {
 public:
  explicit JpegOwner(JpegRun& run) : run_(run) {
    run.info.err = jpeg_std_error(&run.errors);
    run.errors.error_exit = LeaveJpeg;
    run.errors.emit_message = WarnOfJpeg;
    run.errors.output_message = IgnoreJpeg;
    run.progress.progress_monitor = CountJpegScans;
    run.info.client_data = &run;
  }
  ~JpegOwner() { jpeg_destroy_decompress(&run_.info); }
  JpegOwner(const JpegOwner&) = delete;
  JpegOwner& operator=(const JpegOwner&) = delete;

 private:
  JpegRun& run_;
};

model::Failure BadJpeg(const JpegRun& run) {
  const std::string_view message = run.message;
  return model::Corrupt("a JPEG picture that is invalid or cut: {}",
                        message.empty() ? "no picture" : message);
}

}  // namespace

model::Result<void> DecodeJpeg(const PictureRule& rule, ConstByteSpan picture,
                               const PictureForm& form, ByteSpan out) {
  NDLFS_RETURN_IF_ERROR(CheckPictureType(form, model::Datatype::Integer(1, false)));
  JpegRun run;
  const JpegOwner owner(run);
  const ConstByteSpan tables(reinterpret_cast<const std::byte*>(rule.tables.data()),
                             rule.tables.size());
  constexpr uint64_t kTables = uint64_t{16} << 20, kBytesOfSample = 3;
  const uint64_t most = kTables + kBytesOfSample * std::min(out.size(), kMaxViewSize / 4);
  if (!StartJpeg(run, tables, picture, most)) return BadJpeg(run);
  jpeg_decompress_struct& info = run.info;
  const auto samples = static_cast<uint64_t>(info.num_components);
  if (rule.colours == PictureRule::Colours::kFromYCbCr && samples != 3) {
    return model::Corrupt("a JPEG picture of {} samples, expected colours", samples);
  }
  if (info.data_precision != 8) {
    return model::Unsupported("a JPEG picture of {} bits", info.data_precision);
  }
  NDLFS_TRY(const uint64_t row_bytes,
            CheckPictureSize(form, {info.image_width, info.image_height, samples}, out.size()));
  if (rule.colours == PictureRule::Colours::kAsStored) {
    for (uint64_t i = 0; i < samples; ++i) {
      const jpeg_component_info& component = info.comp_info[i];
      if (component.h_samp_factor != info.max_h_samp_factor ||
          component.v_samp_factor != info.max_v_samp_factor) {
        return model::Unsupported("a JPEG picture with fewer samples than pixels");
      }
    }
  }
  ChooseColours(rule.colours, info);
  if (!ReadJpegRows(run, row_bytes, out)) return BadJpeg(run);
  return {};
}

}  // namespace ndlfs::backends
