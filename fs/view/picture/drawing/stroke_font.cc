// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/stroke_font.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "model/utf8.h"

namespace ndlfs::fs::picture {
namespace {

// A character: how far to go on to the next one, and its strokes. Capital letters are 14 high,
// small ones 10, and descenders reach to -4. L: points to join. O: centre and radii of an
// ellipse. A: the same, and two angles in degrees, counter-clockwise from the right.
struct Glyph {
  uint32_t code;
  double advance;
  std::string_view strokes;
};

constexpr std::string_view kBox = "L 1.5 0 1.5 12 8.5 12 8.5 0 1.5 0";

constexpr Glyph kGlyphs[] = {
    {' ', 5, ""},
    {'!', 4, "L 2 14 2 4.2 O 2 0.4 0.4 0.4"},
    {'"', 6.5, "L 1.8 14 1.8 10 L 4.7 14 4.7 10"},
    {'#', 12, "L 3.2 0 5 14 L 7.2 0 9 14 L 1.2 9.6 11 9.6 L 0.8 4.4 10.6 4.4"},
    {'$', 10.6, "A 5.3 10 3.7 3 35 270 A 5.3 3.9 4 3.1 90 -145 L 5.3 15.5 5.3 -1.5"},
    {'%', 13, "O 3.3 11 2.2 2.9 O 9.7 3 2.2 2.9 L 10 14 3 0"},
    {'&', 12,
     "L 10.8 0 3.6 8.8 A 5.4 11.3 2.5 2.6 230 -55 L 6.8 9.2 2.6 6 A 4.6 3.4 3.6 3.4 125 320 L "
     "7.4 1.2 10.2 6.2"},
    {'\'', 3.6, "L 1.8 14 1.8 10"},
    {'(', 5.4, "A 7.4 5.5 5.8 9.5 125 235"},
    {')', 5.4, "A -2 5.5 5.8 9.5 55 -55"},
    {'*', 8, "L 4 14 4 7 L 1 12.2 7 8.8 L 1 8.8 7 12.2"},
    {'+', 10, "L 1 6 9 6 L 5 2 5 10"},
    {',', 4, "L 2.2 0.6 1.2 -2.6"},
    {'-', 7, "L 1.2 5 5.8 5"},
    {'.', 4, "O 2 0.4 0.4 0.4"},
    {'/', 6.5, "L 0.6 -1.8 5.9 14.6"},
    {'0', 10, "O 5 7 4 7"},
    {'1', 10, "L 2 11.2 5.6 14 5.6 0"},
    {'2', 10, "A 5 10 4 4 165 -35 L 8.28 7.7 1.1 0 9.1 0"},
    {'3', 10, "A 4.8 10.5 3.6 3.5 150 -90 A 4.8 3.6 4.2 3.5 90 -150"},
    {'4', 10, "L 7 0 7 14 0.9 4.3 9.5 4.3"},
    {'5', 10, "L 8.4 14 2.3 14 1.75 7.85 A 4.7 4.6 4.2 4.6 135 -150"},
    {'6', 10, "O 5 4.4 4 4.4 A 8.5 4.4 7.5 9.6 180 96"},
    {'7', 10, "L 1 14 9 14 3.6 0"},
    {'8', 10, "O 5 10.6 3.5 3.4 O 5 3.6 4.1 3.6"},
    {'9', 10, "O 5 9.6 4 4.4 A 1.5 9.6 7.5 9.6 0 -84"},
    {':', 4, "O 2 0.6 0.4 0.4 O 2 8.8 0.4 0.4"},
    {';', 4, "L 2.2 0.6 1.2 -2.6 O 2 8.8 0.4 0.4"},
    {'<', 10, "L 9 11 1.4 6 9 1"},
    {'=', 10, "L 1 8 9 8 L 1 4 9 4"},
    {'>', 10, "L 1 11 8.6 6 1 1"},
    {'?', 9, "A 4.5 10.4 3.5 3.6 165 -45 L 6.97 7.85 4.6 5.6 4.6 4 O 4.6 0.4 0.4 0.4"},
    {'@', 15,
     "O 7.2 5.4 2.7 3.1 L 9.9 8.5 9.9 4.2 A 11.5 4.2 1.6 1.9 180 350 A 7.5 5.4 5.8 7.4 0 300 L "
     "13.1 3.8 13.3 5.4"},
    {'A', 12, "L 0.8 0 6 14 11.2 0 L 2.7 5 9.3 5"},
    {'B', 11.2,
     "L 6 0 1.6 0 1.6 14 6 14 A 6 10.6 3.4 3.4 90 -90 L 6 7.2 1.6 7.2 A 6 3.6 4.1 3.6 90 -90"},
    {'C', 12.4, "A 7.2 7 6 7 48 312"},
    {'D', 12.8, "L 5.4 0 1.6 0 1.6 14 5.4 14 A 5.4 7 6.2 7 90 -90"},
    {'E', 10.4, "L 9.2 0 1.6 0 1.6 14 9.2 14 L 1.6 7.3 8.2 7.3"},
    {'F', 9.8, "L 1.6 0 1.6 14 9 14 L 1.6 7.2 7.8 7.2"},
    {'G', 13.6, "A 7.2 7 6 7 48 325 L 12.1 3 12.1 6.6 8.2 6.6"},
    {'H', 12.2, "L 1.6 0 1.6 14 L 10.6 0 10.6 14 L 1.6 7.3 10.6 7.3"},
    {'I', 4, "L 2 0 2 14"},
    {'J', 8.4, "L 6.6 14 6.6 4 A 3.8 4 2.8 4 0 -155"},
    {'K', 11.2, "L 1.6 0 1.6 14 L 10 14 1.6 5.4 L 4.8 8.7 10.4 0"},
    {'L', 9.4, "L 1.6 14 1.6 0 8.8 0"},
    {'M', 14.2, "L 1.6 0 1.6 14 7.1 3 12.6 14 12.6 0"},
    {'N', 12.2, "L 1.6 0 1.6 14 10.6 0 10.6 14"},
    {'O', 14.4, "O 7.2 7 6.1 7"},
    {'P', 10.8, "L 1.6 0 1.6 14 5.8 14 A 5.8 10.3 3.9 3.7 90 -90 L 5.8 6.6 1.6 6.6"},
    {'Q', 14.4, "O 7.2 7 6.1 7 L 8.8 3.6 13 -1"},
    {'R', 11.4,
     "L 1.6 0 1.6 14 5.8 14 A 5.8 10.3 3.9 3.7 90 -90 L 5.8 6.6 1.6 6.6 L 5.6 6.6 10.2 0"},
    {'S', 10.8, "A 5.4 10.5 3.8 3.5 30 270 A 5.4 3.5 4.2 3.5 90 -150"},
    {'T', 11, "L 0.6 14 10.4 14 L 5.5 14 5.5 0"},
    {'U', 12, "L 1.5 14 1.5 4.5 A 6 4.5 4.5 4.5 180 360 L 10.5 4.5 10.5 14"},
    {'V', 11.6, "L 0.8 14 5.8 0 10.8 14"},
    {'W', 16.4, "L 0.8 14 4.4 0 8.2 13 12 0 15.6 14"},
    {'X', 11, "L 1 14 10 0 L 10 14 1 0"},
    {'Y', 11, "L 0.8 14 5.5 6.8 10.2 14 L 5.5 6.8 5.5 0"},
    {'Z', 10.8, "L 1 14 9.6 14 1 0 9.9 0"},
    {'[', 5, "L 4.2 15.5 1.6 15.5 1.6 -3 4.2 -3"},
    {'\\', 6.5, "L 0.6 14.6 5.9 -1.8"},
    {']', 5, "L 0.8 15.5 3.4 15.5 3.4 -3 0.8 -3"},
    {'^', 8, "L 1.2 9.5 4 14 6.8 9.5"},
    {'_', 8.5, "L 0.4 -2.4 8.1 -2.4"},
    {'`', 5, "L 1.4 14.4 3.4 11.8"},
    {'a', 10.6, "O 5 4.9 3.9 4.9 L 8.9 9.8 8.9 0"},
    {'b', 10.6, "L 1.6 14 1.6 0 O 5.5 4.9 3.9 4.9"},
    {'c', 9.2, "A 5.2 4.9 4.1 4.9 45 315"},
    {'d', 10.6, "L 8.9 14 8.9 0 O 5 4.9 3.9 4.9"},
    {'e', 10, "L 1.1 5.1 8.9 5.1 A 5 4.9 3.9 4.9 2 315"},
    {'f', 5.8, "A 5 11.2 2.5 2.8 75 180 L 2.5 11.2 2.5 0 L 0.5 9.6 5 9.6"},
    {'g', 10.6, "O 5 4.9 3.9 4.9 L 8.9 9.8 8.9 -0.5 A 5 -0.5 3.9 3.6 0 -150"},
    {'h', 10.2, "L 1.6 14 1.6 0 A 5.1 5.9 3.5 3.9 180 0 L 8.6 5.9 8.6 0"},
    {'i', 4, "L 2 9.8 2 0 O 2 13.3 0.4 0.4"},
    {'j', 4.4, "L 2.4 9.8 2.4 -1.6 A 0.4 -1.6 2 2.4 0 -95 O 2.4 13.3 0.4 0.4"},
    {'k', 9, "L 1.6 14 1.6 0 L 7.9 9.8 1.6 3.7 L 4.1 6.2 8.4 0"},
    {'l', 4.6, "L 2 14 2 2.2 A 4 2.2 2 2.2 180 265"},
    {'m', 15.4,
     "L 1.6 9.8 1.6 0 A 4.65 6.2 3.05 3.6 180 0 L 7.7 6.2 7.7 0 A 10.75 6.2 3.05 3.6 180 0 L "
     "13.8 6.2 13.8 0"},
    {'n', 10.2, "L 1.6 9.8 1.6 0 A 5.1 5.9 3.5 3.9 180 0 L 8.6 5.9 8.6 0"},
    {'o', 10.2, "O 5.1 4.9 4 4.9"},
    {'p', 10.6, "L 1.6 9.8 1.6 -4 O 5.5 4.9 3.9 4.9"},
    {'q', 10.6, "L 8.9 9.8 8.9 -4 O 5 4.9 3.9 4.9"},
    {'r', 6.8, "L 1.6 9.8 1.6 0 A 5.2 5.6 3.6 4.2 180 78"},
    {'s', 8.4, "A 4.3 7.35 2.9 2.45 30 270 A 4.3 2.45 3.3 2.45 90 -150"},
    {'t', 6.2, "L 2.6 13 2.6 2.8 A 5.1 2.8 2.5 2.8 180 275 L 0.6 9.6 5.2 9.6"},
    {'u', 10.2, "L 1.6 9.8 1.6 3.9 A 5.1 3.9 3.5 3.9 180 360 L 8.6 9.8 8.6 0"},
    {'v', 9, "L 0.7 9.8 4.5 0 8.3 9.8"},
    {'w', 13.4, "L 0.7 9.8 3.7 0 6.7 9.2 9.7 0 12.7 9.8"},
    {'x', 8.8, "L 0.9 9.8 7.9 0 L 7.9 9.8 0.9 0"},
    {'y', 9, "L 0.7 9.8 4.5 0 L 8.3 9.8 4 -1.6 A 1.6 -0.8 2.6 3.2 -20 -95"},
    {'z', 8.8, "L 1 9.8 7.7 9.8 1 0 7.9 0"},
    {'{', 6, "L 5 15.5 3.2 14.5 3.2 8 1.2 6.2 3.2 4.4 3.2 -2 5 -3"},
    {'|', 4, "L 2 15.5 2 -3"},
    {'}', 6, "L 1 15.5 2.8 14.5 2.8 8 4.8 6.2 2.8 4.4 2.8 -2 1 -3"},
    {'~', 10, "A 3 5.6 2 1.6 170 0 A 7 5.6 2 1.6 180 350"},
    {0xB0, 6, "O 3 11.8 2 2"},                         // degree
    {0xB1, 10, "L 1 7 9 7 L 5 3 5 11 L 1 0.5 9 0.5"},  // plus-minus
    {0xB5, 10.2,
     "L 1.6 9.8 1.6 -4 L 1.6 3.9 1.6 3.8 A 5.1 3.9 3.5 3.9 180 360 L 8.6 9.8 8.6 0"},  // micro
    {0xB7, 5, "O 2.5 5 0.5 0.5"},              // middle dot
    {0xD7, 9, "L 1.6 9 7.4 3 L 1.6 3 7.4 9"},  // times
    {0xA1, 4, "L 2 9.8 2 -4 O 2 9.6 0.4 0.4 L 2 5.6 2 -4"},
    {0xA2, 9.2, "A 5.2 4.9 4.1 4.9 45 315 L 5.2 12 5.2 -2"},
    {0xA3, 10, "A 6 10.4 3.2 3.6 20 180 L 2.8 10.4 2.8 3 1.2 0 9 0 L 1 6.6 7 6.6"},
    {0xA5, 11, "L 0.8 14 5.5 6.8 10.2 14 L 5.5 6.8 5.5 0 L 1.6 6 9.4 6 L 1.6 3.2 9.4 3.2"},
    {0xA7, 9, "A 4.5 11.6 3 2.4 30 270 A 4.5 0.4 3 2.4 90 -150 O 4.5 6 3.2 3.2"},
    {0xAB, 10, "L 4.6 9 1.4 5.2 4.6 1.4 L 8.6 9 5.4 5.2 8.6 1.4"},
    {0xAC, 10, "L 1 7 9 7 9 3"},
    {0xAF, 6, "L 0.6 12.6 5.4 12.6"},
    {0xBB, 10, "L 1.4 9 4.6 5.2 1.4 1.4 L 5.4 9 8.6 5.2 5.4 1.4"},
    {0xBF, 9, "O 4.4 9.6 0.4 0.4 L 4.4 6 4.4 4.4 2.03 2.15 A 4.5 -0.4 3.5 3.6 135 345"},
    {0xC6, 16, "L 0.6 0 7 14 15 14 L 8.4 14 8.4 0 15.2 0 L 2.9 5 8.4 5 L 8.4 7.3 14.2 7.3"},
    {0xD0, 13, "L 5.6 0 1.8 0 1.8 14 5.6 14 A 5.6 7 6.2 7 90 -90 L 0.2 7.3 6 7.3"},
    {0xD8, 14.4, "O 7.2 7 6.1 7 L 2.2 -0.6 12.2 14.6"},
    {0xDE, 10.8, "L 1.6 0 1.6 14 L 1.6 11 5.8 11 A 5.8 7.3 3.9 3.7 90 -90 L 5.8 3.6 1.6 3.6"},
    {0xDF, 10,
     "L 1.6 0 1.6 10.4 A 4.8 10.6 3.2 3.4 180 -60 L 6.4 7.8 5.4 6.6 A 5 3.4 3.9 3.4 70 -120"},
    {0xE6, 16, "O 4.6 4.9 3.5 4.9 L 8.2 9.8 8.2 0 L 8.2 5.1 15 5.1 A 11.6 4.9 3.4 4.9 2 315"},
    {0xF0, 10.2, "O 5 4.6 3.9 4.6 L 8.9 5 7.6 9.8 3.4 14 L 2.6 10.6 7.6 13.2"},
    {0xF7, 10, "L 1 6 9 6 O 5 10 0.4 0.4 O 5 2 0.4 0.4"},
    {0xF8, 10.2, "O 5.1 4.9 4 4.9 L 1.4 -0.6 8.8 10.4"},
    {0xFE, 10.6, "L 1.6 14 1.6 -4 O 5.5 4.9 3.9 4.9"},
    {0x110, 13, "L 5.6 0 1.8 0 1.8 14 5.6 14 A 5.6 7 6.2 7 90 -90 L 0.2 7.3 6 7.3"},
    {0x111, 10.8, "L 8.9 14 8.9 0 O 5 4.9 3.9 4.9 L 6 11.8 10.8 11.8"},
    {0x131, 4, "L 2 9.8 2 0"},
    {0x141, 9.6, "L 1.8 14 1.8 0 9 0 L 0.2 5.4 5.4 9"},
    {0x142, 4.4, "L 2.2 14 2.2 0 L 0.4 5.6 4 8.4"},
    {0x152, 18,
     "L 17 14 7.4 14 L 7.4 0 17.2 0 A 7.4 7 6.4 7 90 270 L 8.6 14 8.6 0 L 8.6 7.3 15.6 7.3"},
    {0x153, 17, "O 5 4.9 4 4.9 L 9 5.1 16.4 5.1 A 12.7 4.9 3.7 4.9 2 315"},
    // Greek, as far as Latin letters do not look alike.
    {0x393, 9.6, "L 1.6 0 1.6 14 9 14"},
    {0x394, 12.4, "L 0.9 0 6.2 14 11.5 0 0.9 0"},
    {0x398, 14.4, "O 7.2 7 6.1 7 L 3.6 7.2 10.8 7.2"},
    {0x39B, 11.6, "L 0.8 0 5.8 14 10.8 0"},
    {0x39E, 10.6, "L 1.2 14 9.4 14 L 2.2 7.2 8.4 7.2 L 1.2 0 9.4 0"},
    {0x3A0, 12.2, "L 1.6 0 1.6 14 10.6 14 10.6 0"},
    {0x3A3, 10.8, "L 9.4 14 1.4 14 6.4 7.2 1.4 0 9.6 0"},
    {0x3A6, 14, "O 7 7 5.8 4.6 L 7 14 7 0"},
    {0x3A8, 13.6, "A 6.8 9 5.5 5 180 360 L 1.3 14 1.3 9 L 12.3 14 12.3 9 L 6.8 14 6.8 0"},
    {0x3A9, 13.4, "A 6.7 7.8 5.6 6.2 -58 238 L 9.67 2.54 9 0 12.4 0 L 3.73 2.54 4.4 0 1 0"},
    {0x3B1, 11, "O 4.8 4.9 3.9 4.9 L 9.6 9.8 8.2 4.6 8.8 1 10 0"},
    {0x3B2, 10, "L 1.6 -4 1.6 10.4 A 4.9 10.6 3.3 3.4 180 -80 A 5 3.8 3.9 3.8 80 -150"},
    {0x3B3, 9.4, "L 0.7 9.8 4.7 -0.4 L 8.7 9.8 4.7 -0.4 O 4.6 -2.4 1.1 1.8"},
    {0x3B4, 10, "O 5 4.4 3.9 4.4 L 6.6 8.5 2.9 11 A 4.9 12 2.4 2 200 40"},
    {0x3B5, 8.8, "A 4.8 7.4 3.2 2.4 50 270 A 4.8 2.5 3.6 2.5 90 310"},
    {0x3B6, 8.4, "L 1.4 14 7.4 14 2.2 7.6 1.6 4.4 2.6 1.6 6 0.4 7.2 -0.8 6.8 -2.6 5.4 -3.4"},
    {0x3B7, 10.2, "L 1.6 9.8 1.6 0 A 5.1 5.9 3.5 3.9 180 0 L 8.6 5.9 8.6 -4"},
    {0x3B8, 10, "O 5 7 3.8 7 L 1.3 7 8.7 7"},
    {0x3B9, 4.6, "L 2 9.8 2 2 A 3.8 2 1.8 2 180 270"},
    {0x3BA, 9, "L 1.6 9.8 1.6 0 L 7.9 9.8 1.6 4.4 L 3.8 6.2 8.4 0"},
    {0x3BB, 9.6, "L 0.9 13.6 2.6 13.6 8.8 0 L 5 8.2 0.9 0"},
    {0x3BE, 8.4,
     "L 1.6 14 7 14 L 7 13.6 3.4 12.4 2.2 10.6 3.4 8.8 6.6 8 L 6.6 8 3.2 7.2 1.6 4.6 2.6 1.8 6 "
     "0.4 7.2 -0.8 6.8 -2.6 5.4 -3.4"},
    {0x3C0, 11, "L 0.8 9.6 10.2 9.6 L 3.2 9.6 3 4 2 0 L 7.8 9.6 7.8 2 9.2 0 10 0.4"},
    {0x3C1, 10.4, "L 1.6 4.9 1.6 -4 O 5.4 4.9 3.8 4.9"},
    {0x3C2, 8.6, "A 5 5.4 3.8 4.4 40 180 L 1.2 5.4 1.8 2.6 5.6 0.4 6.8 -0.8 6.4 -2.6 5 -3.4"},
    {0x3C3, 10.8, "O 4.9 4.7 3.8 4.7 L 4.9 9.5 10.2 9.5"},
    {0x3C4, 8.8, "L 0.8 9.6 8.2 9.6 L 4.4 9.6 4.4 2 A 6.2 2 1.8 2 180 280"},
    {0x3C5, 9.6, "L 1.4 9.8 1.4 4 A 4.8 4 3.4 4 180 360 L 8.2 4 7.6 9.8"},
    {0x3C6, 12, "O 6 4.9 4.8 4.9 L 6 14 6 -4"},
    {0x3C7, 9, "L 0.9 9.8 8.1 -4 L 8.1 9.8 0.9 -4"},
    {0x3C8, 12.4, "L 6.2 13 6.2 -4 L 1.5 9.8 1.5 5 A 6.2 5 4.7 5 180 360 L 10.9 5 10.9 9.8"},
    {0x3C9, 13.4, "A 3.9 4.4 2.9 4.4 120 360 L 6.8 4.4 6.8 7 A 9.7 4.4 2.9 4.4 180 420"},
    // Cyrillic, likewise.
    {0x411, 10.8, "L 9.2 14 1.6 14 1.6 0 5.6 0 A 5.6 4 4 4 -90 90 L 5.6 8 1.6 8"},
    {0x414, 12.6, "L 0.8 -3 0.8 0 11.8 0 11.8 -3 L 2.2 0 3.6 14 10 14 10 0"},
    {0x416, 16, "L 8 14 8 0 L 1 14 8 6.8 15 14 L 1 0 8 7.2 15 0"},
    {0x418, 12.2, "L 1.6 14 1.6 0 10.6 14 10.6 0"},
    {0x423, 10.6, "L 0.8 14 5.6 4.4 L 10 14 4.6 2 A 2.6 2.2 2.2 2.2 0 -100"},
    {0x426, 12.6, "L 1.6 14 1.6 0 11.8 0 11.8 -3 L 10 14 10 0"},
    {0x427, 11.4, "L 9.8 14 9.8 0 L 1.4 14 1.4 10 A 4.6 9.6 3.2 3.4 180 270 L 4.6 6.2 9.8 6.2"},
    {0x428, 15.4, "L 1.6 14 1.6 0 13.8 0 13.8 14 L 7.7 14 7.7 0"},
    {0x429, 16, "L 1.6 14 1.6 0 15 0 15 -3 L 7.5 14 7.5 0 L 13.4 14 13.4 0"},
    {0x42A, 12.4, "L 0.6 14 3.4 14 3.4 0 7.4 0 A 7.4 4 4 4 -90 90 L 7.4 8 3.4 8"},
    {0x42B, 14, "L 1.6 14 1.6 0 5 0 A 5 4 3.8 4 -90 90 L 5 8 1.6 8 L 12.4 14 12.4 0"},
    {0x42C, 10.8, "L 1.6 14 1.6 0 5.6 0 A 5.6 4 4 4 -90 90 L 5.6 8 1.6 8"},
    {0x42D, 12, "A 4.8 7 5.8 7 -135 135 L 4 7.2 10.5 7.2"},
    {0x42E, 16, "L 1.6 14 1.6 0 L 1.6 7.2 5 7.2 O 10 7 5 7"},
    {0x42F, 11.4,
     "L 9.8 0 9.8 14 5.6 14 A 5.6 10.3 3.9 3.7 90 270 L 5.6 6.6 9.8 6.6 L 5.8 6.6 1.2 0"},
    {0x431, 10.2, "O 5.1 4.9 4 4.9 L 1.1 5 1.4 10 3.4 12.4 8.4 13.8"},
    // Signs.
    {0x2030, 18, "O 3.3 11 2.2 2.9 O 9.7 3 2.2 2.9 O 15 3 2.2 2.9 L 10 14 3 0"},
    {0x2044, 3, "L -1.4 -0.6 4.4 14.2"},
    {0x20AC, 11, "A 7.2 7 5 7 48 312 L 0.6 8.6 8.4 8.6 L 0.6 5.4 7.8 5.4"},
    {0x2190, 12, "L 11 6 1 6 L 4.4 9.4 1 6 4.4 2.6"},
    {0x2191, 8, "L 4 0 4 13 L 1 9.6 4 13 7 9.6"},
    {0x2192, 12, "L 1 6 11 6 L 7.6 9.4 11 6 7.6 2.6"},
    {0x2193, 8, "L 4 13 4 0 L 1 3.4 4 0 7 3.4"},
    {0x2202, 10, "O 5 4.4 3.9 4.4 L 8.9 4.8 8.4 10 6 13.6 2.8 13"},
    {0x221A, 11, "L 0.6 7 2.4 7.6 5 0 10.4 14"},
    {0x221E, 14, "O 3.9 5.6 2.9 2.9 O 10.1 5.6 2.9 2.9"},
    {0x2248, 10, "A 3 4 2 1.4 170 0 A 7 4 2 1.4 180 350 A 3 8 2 1.4 170 0 A 7 8 2 1.4 180 350"},
    {0x2264, 10, "L 9 13 1.4 8.4 9 3.8 L 1.4 0.8 9 0.8"},
    {0x2265, 10, "L 1 13 8.6 8.4 1 3.8 L 1 0.8 8.6 0.8"},
    {0x2026, 11, "O 2 0.4 0.4 0.4 O 5.5 0.4 0.4 0.4 O 9 0.4 0.4 0.4"},  // ellipsis
    {0x2212, 10, "L 1 6 9 6"},                                          // minus
    {0x207B, 5.5, "L 0.9 10.6 4.6 10.6"},                               // superscript minus
};

// A mark above or below a letter. The strokes are for small letters, around the middle of the
// letter; above tall letters they are higher.
struct Mark {
  uint32_t code;
  bool is_above;
  std::string_view strokes;
};

constexpr Mark kMarks[] = {
    {0x300, true, "L -1.8 14 0.8 11.4"},
    {0x301, true, "L 1.8 14 -0.8 11.4"},
    {0x302, true, "L -2.2 11.4 0 14 2.2 11.4"},
    {0x303, true, "A -1.3 12.2 1.3 1.1 170 0 A 1.3 12.2 1.3 1.1 180 350"},
    {0x304, true, "L -2.4 12.6 2.4 12.6"},
    {0x306, true, "A 0 14 2.3 2.5 180 360"},
    {0x307, true, "O 0 13 0.4 0.4"},
    {0x308, true, "O -1.9 13 0.4 0.4 O 1.9 13 0.4 0.4"},
    {0x309, true, "A 0 13.2 1.3 1.2 180 -60 L 0.6 12.1 0 11"},
    {0x30A, true, "O 0 13 1.5 1.5"},
    {0x30B, true, "L -0.4 14 -2 11.4 L 2.6 14 1 11.4"},
    {0x30C, true, "L -2.2 14 0 11.4 2.2 14"},
    {0x323, false, "O 0 -2.6 0.4 0.4"},
    {0x326, false, "L 0.4 -1.4 -0.6 -4"},
    {0x327, false, "L 0 0 -0.3 -1.6 A 0 -2.9 1.5 1.3 90 -110"},
    {0x328, false, "A 1.6 -1.6 1.8 1.8 110 290"},
    {0x338, false, "L -3 1 3 11"},
    {0x342, true, "A -1.3 12.2 1.3 1.1 170 0 A 1.3 12.2 1.3 1.1 180 350"},
};
constexpr double kTallRise = 4.4;

// Digits that are smaller, and higher or lower.
constexpr std::array<uint32_t, 10> kSuperscriptCodes = {0x2070, 0xB9,   0xB2,   0xB3,   0x2074,
                                                        0x2075, 0x2076, 0x2077, 0x2078, 0x2079};
constexpr uint32_t kFirstSubscript = 0x2080;
constexpr double kSuperscriptSize = 0.64;
constexpr double kSuperscriptRise = 6.4;
constexpr double kSubscriptRise = -3;

struct PlacedGlyph {
  std::string_view strokes = kBox;
  double advance = 10;
  double scale = 1;
  double rise = 0;
  double shift = 0;  // to the right
};

// Letters of other scripts that look like Latin ones, and signs that look like others.
struct LookAlike {
  uint32_t code;
  uint32_t alike;
};
constexpr LookAlike kLookAlikes[] = {
    {0xA0, ' '},
    {0x2007, ' '},
    {0x2009, ' '},
    {0x202F, ' '},
    {0x3BC, 0xB5},
    {0x2010, '-'},
    {0x2011, '-'},
    {0x2013, '-'},
    {0x2014, '-'},
    {0xAD, '-'},
    {0x2018, '\''},
    {0x2019, '\''},
    {0x2032, '\''},
    {0xB4, '\''},
    {0x201C, '"'},
    {0x201D, '"'},
    {0x201E, '"'},
    {0x2033, '"'},
    {0xBA, 0xB0},
    {0x2DA, 0xB0},
    {0x22C5, 0xB7},
    {0x2022, 0xB7},
    {0x2219, 0xB7},
    {0x2206, 0x394},
    {0x2211, 0x3A3},
    {0x220F, 0x3A0},
    {0x3D1, 0x3B8},
    {0x3D5, 0x3C6},
    {0x3F5, 0x3B5},
    {0xA6, '|'},
    // Greek
    {0x391, 'A'},
    {0x392, 'B'},
    {0x395, 'E'},
    {0x396, 'Z'},
    {0x397, 'H'},
    {0x399, 'I'},
    {0x39A, 'K'},
    {0x39C, 'M'},
    {0x39D, 'N'},
    {0x39F, 'O'},
    {0x3A1, 'P'},
    {0x3A4, 'T'},
    {0x3A5, 'Y'},
    {0x3A7, 'X'},
    {0x3BD, 'v'},
    {0x3BF, 'o'},
    // Cyrillic
    {0x406, 'I'},
    {0x410, 'A'},
    {0x412, 'B'},
    {0x413, 0x393},
    {0x415, 'E'},
    {0x417, '3'},
    {0x41A, 'K'},
    {0x41B, 0x39B},
    {0x41C, 'M'},
    {0x41D, 'H'},
    {0x41E, 'O'},
    {0x41F, 0x3A0},
    {0x420, 'P'},
    {0x421, 'C'},
    {0x422, 'T'},
    {0x424, 0x3A6},
    {0x425, 'X'},
    {0x430, 'a'},
    {0x435, 'e'},
    {0x43E, 'o'},
    {0x440, 'p'},
    {0x441, 'c'},
    {0x443, 'y'},
    {0x444, 0x3C6},
    {0x445, 'x'},
    {0x456, 'i'},
};

uint32_t Alike(uint32_t code) {
  const auto* found = std::ranges::find(kLookAlikes, code, &LookAlike::code);
  return found == std::end(kLookAlikes) ? code : found->alike;
}

PlacedGlyph Scaled(const PlacedGlyph& glyph, double scale, double rise) {
  return {glyph.strokes, glyph.advance * scale, scale, rise};
}

// Most small letters of Cyrillic are small capitals.
bool IsSmallCyrillic(uint32_t code) { return code >= 0x430 && code <= 0x44F; }

PlacedGlyph FindGlyph(uint32_t code) {
  constexpr double kSmallHeight = 0.7;
  constexpr uint32_t kToCapital = 0x20;
  code = Alike(code);
  const auto superscript = std::ranges::find(kSuperscriptCodes, code);
  if (superscript != kSuperscriptCodes.end()) {
    const auto digit = static_cast<uint32_t>('0' + (superscript - kSuperscriptCodes.begin()));
    return Scaled(FindGlyph(digit), kSuperscriptSize, kSuperscriptRise);
  }
  if (code >= kFirstSubscript && code < kFirstSubscript + 10) {
    return Scaled(FindGlyph('0' + (code - kFirstSubscript)), kSuperscriptSize, kSubscriptRise);
  }
  if (code == 0x207A) return Scaled(FindGlyph('+'), kSuperscriptSize, kSuperscriptRise);
  if (code == 0x207F) return Scaled(FindGlyph('n'), kSuperscriptSize, kSuperscriptRise);
  const auto* glyph = std::ranges::find(kGlyphs, code, &Glyph::code);
  if (glyph != std::end(kGlyphs)) return {glyph->strokes, glyph->advance};
  if (IsSmallCyrillic(code)) return Scaled(FindGlyph(code - kToCapital), kSmallHeight, 0);
  return {};
}

// Whether a mark above has to be higher than above an "a".
bool IsTall(uint32_t code) {
  code = Alike(code);
  return code < 0x250 ? (code >= 'A' && code <= 'Z') ||
                            std::string_view("bdfhklt").find(static_cast<char>(code)) !=
                                std::string_view::npos
                      : (code >= 0x391 && code <= 0x3A9) || (code >= 0x400 && code <= 0x42F);
}

// Signs that are several of those above.
std::u32string_view Expanded(uint32_t code) {
  switch (code) {
    case 0xA9:
      return U"(c)";
    case 0xAE:
      return U"(R)";
    case 0xBC:
      return U"\u00b9\u2044\u2084";
    case 0xBD:
      return U"\u00b9\u2044\u2082";
    case 0xBE:
      return U"\u00b3\u2044\u2084";
    case 0x2103:
      return U"\u00b0C";
    default:
      return {};
  }
}

// Appends `code`, or the letter and the marks that it consists of.
void AppendCharacter(uint32_t code, std::vector<uint32_t>& codes) {
  constexpr size_t kMostParts = 8;
  if (code < 0x80) {
    codes.push_back(code < ' ' || code == 0x7F ? ' ' : code);
    return;
  }
  if (const auto several = Expanded(code); !several.empty()) {
    codes.insert(codes.end(), several.begin(), several.end());
    return;
  }
  std::array<utf8proc_int32_t, kMostParts> parts{};
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(),
                                             kMostParts, UTF8PROC_DECOMPOSE, &boundary);
  // A character whose parts have no strokes becomes one box, and not several.
  const bool is_letter_with_marks =
      count > 1 && static_cast<size_t>(count) <= kMostParts &&
      std::all_of(parts.begin() + 1, parts.begin() + count, [](utf8proc_int32_t part) {
        return utf8proc_category(part) == UTF8PROC_CATEGORY_MN;
      });
  if (is_letter_with_marks) {
    codes.insert(codes.end(), parts.begin(), parts.begin() + count);
  } else {
    codes.push_back(count == 1 ? static_cast<uint32_t>(parts[0]) : code);
  }
}

// Takes the characters of UTF-8 one by one. Bytes that are no character become U+FFFD.
std::vector<uint32_t> Characters(std::string_view text) {
  std::vector<uint32_t> codes;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(1, model::Utf8SequenceLength(text));
    const auto first = static_cast<unsigned char>(text.front());
    uint32_t code = 0xFFFD;
    if (model::Utf8SequenceLength(text) == 1) code = first;
    if (length > 1) {
      code = first & (0x7FU >> length);
      for (size_t i = 1; i < length; ++i) {
        code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
      }
    }
    AppendCharacter(code, codes);
    text.remove_prefix(length);
  }
  return codes;
}

bool IsMark(uint32_t code) {
  return code >= 0x300 &&
         utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_MN;
}

// The glyphs of `text` one after the other; marks, which have no width, follow their letters.
std::vector<PlacedGlyph> GlyphsOf(std::string_view text) {
  std::vector<PlacedGlyph> glyphs;
  const std::vector<uint32_t> codes = Characters(text);
  uint32_t letter = 0;
  double advance = 0;  // of the letter
  for (size_t i = 0; i < codes.size(); ++i) {
    const uint32_t code = codes[i];
    if (!IsMark(code)) {
      const auto* next = i + 1 < codes.size()
                             ? std::ranges::find(kMarks, codes[i + 1], &Mark::code)
                             : std::end(kMarks);
      const bool loses_dot = next != std::end(kMarks) && next->is_above && Alike(code) == 'i';
      letter = code;
      glyphs.push_back(FindGlyph(loses_dot ? 0x131 : code));
      advance = glyphs.back().advance;
      continue;
    }
    const auto* mark = std::ranges::find(kMarks, code, &Mark::code);
    if (mark == std::end(kMarks)) continue;
    const double rise = mark->is_above && IsTall(letter) ? kTallRise : 0;
    glyphs.push_back({mark->strokes, 0, 1, rise, -advance / 2 - 0.5});
  }
  return glyphs;
}

// The strokes of a glyph as lines, in its own units.
class StrokeReader {
 public:
  explicit StrokeReader(std::string_view strokes) : rest_(strokes) {}

  bool Next(std::vector<Point>& line) {
    line.clear();
    SkipBlanks();
    if (rest_.empty()) return false;
    const char command = rest_.front();
    rest_.remove_prefix(1);
    std::vector<double> numbers;
    while (TakeNumber(numbers)) {
    }
    if (command == 'L') {
      for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
        line.push_back({numbers[i], numbers[i + 1]});
      }
    } else if (command == 'A' && numbers.size() == 6) {
      AddArc(numbers, numbers[4], numbers[5], line);
    } else if (numbers.size() == 4) {
      AddArc(numbers, 0, 360, line);
    }
    return true;
  }

 private:
  void SkipBlanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
  }
  bool TakeNumber(std::vector<double>& numbers) {
    SkipBlanks();
    double number = 0;
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (read.ec != std::errc()) return false;
    rest_.remove_prefix(static_cast<size_t>(read.ptr - rest_.data()));
    numbers.push_back(number);
    return true;
  }
  static void AddArc(const std::vector<double>& ellipse, double from, double to,
                     std::vector<Point>& line) {
    constexpr double kStep = 12;
    const int pieces = std::max(1, static_cast<int>(std::ceil(std::abs(to - from) / kStep)));
    for (int i = 0; i <= pieces; ++i) {
      const double angle = (from + (to - from) * i / pieces) * std::numbers::pi / 180;
      line.push_back({ellipse[0] + ellipse[2] * std::cos(angle),
                      ellipse[1] + ellipse[3] * std::sin(angle)});
    }
  }

  std::string_view rest_;
};

constexpr double kCapitalHeight = 14;

double ThicknessOf(const TextStyle& style) {
  return std::max(1.1, style.size * (style.is_bold ? 0.155 : 0.115));
}

// Thick strokes take away from the room between characters.
double AdvanceOf(const PlacedGlyph& glyph, const TextStyle& style) {
  if (glyph.advance == 0) return 0;
  return glyph.advance + (style.is_bold ? 1.1 : 0.5);
}

}  // namespace

double TextWidth(std::string_view text, const TextStyle& style) {
  double width = 0;
  for (const PlacedGlyph& glyph : GlyphsOf(text)) width += AdvanceOf(glyph, style);
  return width * style.size / kCapitalHeight;
}

void PaintText(Canvas& canvas, Point at, Align align, std::string_view text,
               const TextStyle& style) {
  const double unit = style.size / kCapitalHeight;
  double pen = align == Align::kLeft ? 0 : -TextWidth(text, style);
  if (align == Align::kCentre) pen /= 2;
  std::vector<std::vector<Point>> lines;
  std::vector<Point> line;
  for (const PlacedGlyph& glyph : GlyphsOf(text)) {
    for (StrokeReader strokes(glyph.strokes); strokes.Next(line);) {
      for (Point& p : line) {
        const double right = pen + (p.x * glyph.scale + glyph.shift) * unit;
        const double up = (p.y * glyph.scale + glyph.rise) * unit;
        p = style.is_upwards ? Point{at.x - up, at.y - right} : Point{at.x + right, at.y - up};
      }
      lines.push_back(line);
    }
    pen += AdvanceOf(glyph, style) * unit;
  }
  canvas.Stroke(lines, ThicknessOf(style), style.colour, canvas.All());
}

std::string FitText(std::string_view text, double width, const TextStyle& style) {
  constexpr std::string_view kEllipsis = "\u2026";
  text = text.substr(0, 4096);  // which no picture is wide enough for
  if (TextWidth(text, style) <= width) return std::string(text);
  std::string fitted;
  double used = TextWidth(kEllipsis, style);
  while (!text.empty()) {
    const std::string_view next =
        text.substr(0, std::max<size_t>(1, model::Utf8SequenceLength(text)));
    used += TextWidth(next, style);
    if (used > width) break;
    fitted += next;
    text.remove_prefix(next.size());
  }
  while (fitted.ends_with(' ')) fitted.pop_back();
  return fitted + std::string(kEllipsis);
}

}  // namespace ndlfs::fs::picture
