#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes picture_goldens.h: small pictures of other programs, and the samples that these decode.

Needs python3-numpy, python3-pil (JPEG, JPEG 2000, PNG, WebP), liblerc4, libjxl-tools, libjxl-dev and a C compiler.
"""
import base64
import ctypes
import io
import os
import pathlib
import subprocess
import tempfile

import numpy as np
from PIL import Image

H, W = 11, 17
Y, X = np.mgrid[0:H, 0:W]
goldens = []


def samples(dtype, count):
    """(y, x, sample)"""
    made = np.stack([Y * 9 + X * 5 + 40 * s for s in range(count)], axis=-1)
    scale = {"|u1": 1, "<u2": 257, "<i2": -100, "<f4": 0.25, "<f8": 0.125}[dtype]
    return (made * scale).astype(dtype)


def add(name, codec, dtype, encoded, elements):
    elements = np.ascontiguousarray(elements, dtype)
    if elements.ndim == 2:
        elements = elements[..., None]
    keyword = {"|u1": "uint8", "<u2": "uint16", "<i2": "int16", "<f4": "float32", "<f8": "float64"}[dtype]
    goldens.append((name, codec, keyword, elements.shape[-1], base64.b64encode(encoded).decode(),
                    base64.b64encode(elements.tobytes()).decode()))


def of_pillow(name, codec, elements, picture_format, mode=None, is_exact=False, **keywords):
    dtype = elements.dtype.str
    squeezed = elements[..., 0] if elements.shape[-1] == 1 else elements
    out = io.BytesIO()
    Image.fromarray(squeezed, mode).save(out, picture_format, **keywords)
    decoded = np.array(Image.open(io.BytesIO(out.getvalue())))
    if is_exact:
        np.testing.assert_array_equal(decoded, squeezed)
    add(name, codec, dtype, out.getvalue(), decoded)


def of_lerc(name, elements, mask=None, error=0.0, is_expected=None):
    """Samples of a pixel are its depth."""
    library = ctypes.CDLL("libLerc.so.4")
    kinds = {"|u1": 1, "<i2": 2, "<u2": 3, "<f4": 6, "<f8": 7}
    out = ctypes.create_string_buffer(1 << 16)
    size = ctypes.c_uint()
    elements = np.ascontiguousarray(elements)
    valid = None if mask is None else mask.astype("u1").tobytes()
    status = library.lerc_encodeForVersion(elements.tobytes(), 5, kinds[elements.dtype.str], elements.shape[-1], W, H, 1,
                                 0 if mask is None else 1, valid, ctypes.c_double(error), out, len(out),
                                 ctypes.byref(size))
    assert status == 0, status
    add(name, "imagecodecs_lerc", elements.dtype.str, out.raw[:size.value],
        elements if is_expected is None else is_expected)


def of_cjxl(name, elements, *options):
    dtype = elements.dtype.str
    kind = {1: b"P5", 3: b"P6"}.get(elements.shape[-1])
    with tempfile.TemporaryDirectory() as folder:
        source, made = os.path.join(folder, "a.pnm"), os.path.join(folder, "a.jxl")
        with open(source, "wb") as file:
            if kind:
                file.write(b"%s\n%d %d\n%d\n" % (kind, W, H, 255 if elements.itemsize == 1 else 65535))
            else:
                file.write(b"P7\nWIDTH %d\nHEIGHT %d\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n" % (W, H))
            file.write(elements.astype(elements.dtype.newbyteorder(">")).tobytes())
        subprocess.run(["cjxl", source, made, "-d", "0", *options], check=True, capture_output=True)
        with open(made, "rb") as file:
            add(name, "imagecodecs_jpegxl", dtype, file.read(), elements)


# Encodes planes that it reads as a picture without loss: colours interleaved, then each extra channel.
JXL_ENCODER = r"""
#include <jxl/encode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* width height orientation colours [type of each extra channel ...] < bytes > picture */
int main(int argc, char** argv) {
  JxlPixelFormat format = {atoi(argv[4]), JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  JxlBasicInfo info;
  JxlEncoderInitBasicInfo(&info);
  info.xsize = atoi(argv[1]);
  info.ysize = atoi(argv[2]);
  info.orientation = atoi(argv[3]);
  info.bits_per_sample = 8;
  info.num_color_channels = format.num_channels;
  info.num_extra_channels = argc - 5;
  info.uses_original_profile = JXL_TRUE;
  for (int i = 5; i < argc; ++i) {
    if (atoi(argv[i]) == JXL_CHANNEL_ALPHA) info.alpha_bits = 8;
  }
  JxlEncoder* encoder = JxlEncoderCreate(NULL);
  if (JxlEncoderSetBasicInfo(encoder, &info) != JXL_ENC_SUCCESS) return 1;
  JxlColorEncoding colours;
  JxlColorEncodingSetToSRGB(&colours, format.num_channels == 1);
  if (JxlEncoderSetColorEncoding(encoder, &colours) != JXL_ENC_SUCCESS) return 2;
  for (int i = 5; i < argc; ++i) {
    JxlExtraChannelInfo extra;
    JxlEncoderInitExtraChannelInfo(atoi(argv[i]), &extra);
    extra.bits_per_sample = 8;
    if (JxlEncoderSetExtraChannelInfo(encoder, i - 5, &extra) != JXL_ENC_SUCCESS) return 3;
  }
  JxlEncoderFrameSettings* settings = JxlEncoderFrameSettingsCreate(encoder, NULL);
  JxlEncoderSetFrameLossless(settings, JXL_TRUE);
  const size_t plane = (size_t)info.xsize * info.ysize, size = plane * format.num_channels;
  unsigned char* pixels = malloc(size);
  if (fread(pixels, 1, size, stdin) != size) return 4;
  if (JxlEncoderAddImageFrame(settings, &format, pixels, size) != JXL_ENC_SUCCESS) return 5;
  format.num_channels = 1;
  for (int i = 5; i < argc; ++i) {
    if (fread(pixels, 1, plane, stdin) != plane) return 6;
    if (JxlEncoderSetExtraChannelBuffer(settings, &format, pixels, plane, i - 5) != JXL_ENC_SUCCESS) return 7;
  }
  JxlEncoderCloseInput(encoder);
  unsigned char made[1 << 16], *next = made;
  size_t left = sizeof(made);
  if (JxlEncoderProcessOutput(encoder, &next, &left) != JXL_ENC_SUCCESS) return 8;
  return fwrite(made, 1, next - made, stdout) != (size_t)(next - made);
}
"""
ALPHA, DEPTH = 0, 1


def of_libjxl(name, colours, extras, expected, orientation=1):
    """`colours`: (y, x, sample); `extras`: (type, (y, x)) each; `expected`: what imagecodecs returns."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "encode.c"), os.path.join(folder, "encode")
        with open(source, "w") as file:
            file.write(JXL_ENCODER)
        subprocess.run(["cc", "-o", program, source, "-ljxl"], check=True)
        pixels = colours.tobytes() + b"".join(plane.tobytes() for _, plane in extras)
        height, width, count = colours.shape
        arguments = [width, height, orientation, count, *(kind for kind, _ in extras)]
        picture = subprocess.run([program, *map(str, arguments)], input=pixels, check=True, capture_output=True).stdout
    turned_goldens.append((name, base64.b64encode(picture).decode(),
                           base64.b64encode(np.ascontiguousarray(expected).tobytes()).decode()))


turned_goldens = []
of_pillow("JpegGrey", "imagecodecs_jpeg", samples("|u1", 1), "JPEG", quality=80)
of_pillow("JpegColours", "imagecodecs_jpeg", samples("|u1", 3), "JPEG", quality=80, subsampling="4:2:0")
of_pillow("JpegColoursOf422", "imagecodecs_jpeg", samples("|u1", 3), "JPEG", quality=90, subsampling="4:2:2")
of_pillow("JpegProgressive", "imagecodecs_jpeg", samples("|u1", 3), "JPEG", quality=75, progressive=True)
of_pillow("Jpeg2000", "imagecodecs_jpeg2k", samples("|u1", 1), "JPEG2000", is_exact=True, no_jp2=True)
of_pillow("Jpeg2000InBoxes", "imagecodecs_jpeg2k", samples("|u1", 3), "JPEG2000", is_exact=True)
of_pillow("Jpeg2000Of16Bits", "imagecodecs_jpeg2k", samples("<u2", 1), "JPEG2000", "I;16", is_exact=True, no_jp2=True)
PNGS = (("Grey", "|u1", 1), ("GreyAlpha", "|u1", 2), ("Colours", "|u1", 3), ("ColoursAlpha", "|u1", 4), ("Grey16", "<u2", 1))
of_pillow("WebpLossless", "imagecodecs_webp", samples("|u1", 3), "WEBP", is_exact=True, lossless=True)
of_pillow("WebpAlpha", "imagecodecs_webp", samples("|u1", 4), "WEBP", lossless=True, exact=True, is_exact=True)
of_pillow("WebpLossy", "imagecodecs_webp", samples("|u1", 3), "WEBP", quality=70)
for png, kind, count in PNGS:
    of_pillow("Png" + png, "imagecodecs_png", samples(kind, count), "PNG", is_exact=True)
of_lerc("LercBytes", samples("|u1", 1))
of_lerc("LercColours", samples("<u2", 3))
of_lerc("LercSigned", samples("<i2", 1))
of_lerc("LercFloats", samples("<f4", 1))
of_lerc("LercDoubles", samples("<f8", 2))
of_cjxl("JpegXl", samples("|u1", 1))
of_cjxl("JpegXlColoursOf16Bits", samples("<u2", 3))
of_cjxl("JpegXlAlpha", samples("|u1", 4))
of_cjxl("JpegXlInBoxes", samples("|u1", 3), "--container=1")
MASK = (X + Y) % 3 > 0
of_lerc("LercMask", samples("<f4", 2), MASK, is_expected=np.where(MASK[..., None], samples("<f4", 2), np.float32("nan")))
of_lerc("LercMaskBytes", samples("|u1", 1), MASK,
        is_expected=np.concatenate([np.where(MASK[..., None], samples("|u1", 1), 0), MASK[..., None] * 255], axis=-1))

GREY, RGB = samples("|u1", 1), samples("|u1", 3)
EXTRA, OTHER = (255 - RGB[..., 1]).copy(), (RGB[..., 2] ^ 85).copy()
# Orientations are those of EXIF: 3 is half a turn, 6 shows columns from below as rows.
of_libjxl("HalfTurn", RGB, [], RGB[::-1, ::-1], orientation=3)
of_libjxl("QuarterTurn", RGB, [], np.rot90(RGB, -1), orientation=6)
of_libjxl("GreyWithAlpha", GREY, [(ALPHA, EXTRA)], np.concatenate([GREY, EXTRA[..., None]], axis=-1))
of_libjxl("GreyWithPlanes", GREY, [(DEPTH, EXTRA), (DEPTH, OTHER)], np.stack([GREY[..., 0], EXTRA, OTHER]))
of_libjxl("GreyWithAlphaBehindAPlane", GREY, [(DEPTH, EXTRA), (ALPHA, OTHER)],
          np.concatenate([GREY, OTHER[..., None]], axis=-1))
of_libjxl("ColoursWithAPlane", RGB, [(DEPTH, EXTRA)], RGB)
of_libjxl("ColoursWithAlphaAndAPlane", RGB, [(ALPHA, EXTRA), (DEPTH, OTHER)],
          np.concatenate([RGB, EXTRA[..., None]], axis=-1))
of_libjxl("TurnedGreyWithAPlane", GREY, [(DEPTH, EXTRA)], np.stack([np.rot90(GREY[..., 0], -1), np.rot90(EXTRA, -1)]),
          orientation=6)

here = pathlib.Path(__file__).resolve().parent


def quoted(text):
    lines = [text[i:i + 120] for i in range(0, len(text), 120)]
    return "\n     ".join(f'"{line}"' for line in lines)


with open(here / "picture_goldens.h", "w") as out:
    out.write(f"""// SPDX-License-Identifier: MIT
//
// Written by make_picture_goldens.py; not to be edited.
#pragma once

#include <cstdint>

namespace ndlfs::backends {{

// A picture of {W} x {H} pixels in Base64, and its elements in the order (y, x, sample).
struct PictureGolden {{
  const char* test_name;
  const char* codec;
  const char* type;
  uint64_t samples;
  const char* picture;
  const char* elements;
}};

inline constexpr uint64_t kPictureWidth = {W}, kPictureHeight = {H};

// clang-format off
inline constexpr PictureGolden kPictureGoldens[] = {{
""")
    for name, codec, keyword, count, picture, elements in goldens:
        out.write(f'    {{"{name}", "{codec}", "{keyword}", {count},\n     {quoted(picture)},\n'
                  f'     {quoted(elements)}}},\n')
    out.write("""};

// A picture of JPEG XL in Base64, of uint8, and the elements that imagecodecs makes of it.
struct JpegXlGolden {
  const char* test_name;
  const char* picture;
  const char* elements;
};
inline constexpr JpegXlGolden kJpegXlGoldens[] = {
""")
    for name, picture, elements in turned_goldens:
        out.write(f'    {{"{name}",\n     {quoted(picture)},\n     {quoted(elements)}}},\n')
    out.write("};\n// clang-format on\n\n}  // namespace ndlfs::backends\n")
