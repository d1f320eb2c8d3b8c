# ndlfs_room(NAME SOURCES source... [PUBLIC target...] [PRIVATE target...])
#
# The library of one folder, ndlfs::NAME. PUBLIC and PRIVATE are what it is
# linked with; the rooms among them are those whose headers it may include, and
# tests/rooms_test.py holds every #include against that. It reads the rooms from rooms.json in the
# build directory, which ndlfs_write_rooms() writes.
function(ndlfs_room name)
  cmake_parse_arguments(PARSE_ARGV 1 room "" "" "SOURCES;PUBLIC;PRIVATE")
  if(room_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ndlfs_room(${name}): what is ${room_UNPARSED_ARGUMENTS}?")
  endif()
  add_library(ndlfs_${name} STATIC ${room_SOURCES})
  add_library(ndlfs::${name} ALIAS ndlfs_${name})
  target_link_libraries(ndlfs_${name}
    PUBLIC ndlfs::build_flags ${room_PUBLIC}
    PRIVATE ${room_PRIVATE})
  ndlfs_note_room(${name} "${room_PUBLIC}" "${room_PRIVATE}")
  ndlfs_unity(ndlfs_${name})
  # Not optimized, what is sanitized compiles in two thirds of the time; here it would run too slowly.
  if(NDLFS_SANITIZE AND name MATCHES "^(codec|cache)$")
    target_compile_options(ndlfs_${name} PRIVATE -O1)
  endif()
  ndlfs_precompile(ndlfs_${name} room)
  # Of fs/, the fuzz targets link only what reads requests.
  if(NDLFS_BUILD_FUZZERS AND (name MATCHES "^(dap_parse|http_parse)$" OR
     NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/fs/"))
    ndlfs_fuzzed_flags(ndlfs_${name})
  endif()
endfunction()

# ndlfs_embed(ROOM file...)
#
# Makes FILE.inc of each file, its text as a literal, which sources of the room include as they
# would include the file.
function(ndlfs_embed room)
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" text)
    file(CONFIGURE OUTPUT "${file}.inc" CONTENT "R\"embedded(@text@)embedded\"\n" @ONLY)
  endforeach()
  target_include_directories(ndlfs_${room} PRIVATE "${PROJECT_BINARY_DIR}")
endfunction()

# One line of rooms.json.
function(ndlfs_note_room name public private)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  foreach(kind public private)
    list(FILTER ${kind} INCLUDE REGEX "^ndlfs::")
    list(TRANSFORM ${kind} REPLACE "^ndlfs::(.*)$" "\"\\1\"")
    list(JOIN ${kind} ", " ${kind})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY ndlfs_rooms
    "\"${name}\": {\"folder\": \"${folder}\", \"public\": [${public}], \"private\": [${private}]}")
endfunction()

# To be called after all rooms.
function(ndlfs_write_rooms)
  get_property(rooms GLOBAL PROPERTY ndlfs_rooms)
  list(JOIN rooms ",\n" rooms)
  file(WRITE "${PROJECT_BINARY_DIR}/rooms.json" "{\n${rooms}\n}\n")
endfunction()
