# What `cmake --install` puts where. mount(8) looks for /sbin/mount.ndlfs when
# it finds the type ndlfs in fstab, so install below /usr for that to work.
include(GNUInstallDirs)

install(TARGETS ndlfs RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(CODE [[
  set(folder "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/sbin")
  file(MAKE_DIRECTORY "${folder}")
  foreach(name mount.ndlfs mount.fuse.ndlfs)
    file(CREATE_LINK ../bin/ndlfs "${folder}/${name}" SYMBOLIC)
    message(STATUS "Installing: ${folder}/${name} -> ../bin/ndlfs")
  endforeach()
]])

# The program writes its completions itself. One that is built for another machine
# needs CMAKE_CROSSCOMPILING_EMULATOR for it; without one there are none.
set(NDLFS_ZSH_DIR share/zsh/site-functions CACHE STRING "Where zsh looks for completions")
install(CODE "set(program ${CMAKE_CROSSCOMPILING_EMULATOR} \"$<TARGET_FILE:ndlfs>\")\nset(zsh \"${NDLFS_ZSH_DIR}\")")
install(CODE [[
  set(share "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
  foreach(shell_file "bash:share/bash-completion/completions/ndlfs" "zsh:${zsh}/_ndlfs"
                     "fish:share/fish/vendor_completions.d/ndlfs.fish")
    string(REPLACE ":" ";" pair "${shell_file}")
    list(GET pair 0 shell)
    list(GET pair 1 file)
    execute_process(COMMAND ${program} completion ${shell} OUTPUT_VARIABLE text RESULT_VARIABLE status
                    ERROR_QUIET)
    if(status EQUAL 0)
      file(WRITE "${share}/${file}" "${text}")
      message(STATUS "Installing: ${share}/${file}")
    else()
      message(WARNING "no completions for ${shell}: ${program} does not run here")
    endif()
  endforeach()
]])

install(FILES man/ndlfs.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES man/ndl.5 man/ndlfs-digest.5 man/ndlfs-tree.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES man/ndlfs-mount.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
# `man mount.ndlfs` is a page too.
foreach(name mount.ndlfs mount.fuse.ndlfs)
  file(WRITE "${PROJECT_BINARY_DIR}/man/${name}.8" ".so man8/ndlfs-mount.8\n")
  install(FILES "${PROJECT_BINARY_DIR}/man/${name}.8" DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
endforeach()

set(NDLFS_UNIT_DIR lib/systemd/system CACHE STRING "Where systemd looks for units")
set(serve_unit "")
if(NDLFS_WITH_SERVE)
  set(serve_unit ";ndlfs-serve@.service")
  install(FILES packaging/systemd/ndlfs-serve@.socket DESTINATION ${NDLFS_UNIT_DIR})
endif()
# The units name the program, which is where `cmake --install --prefix` puts it.
install(CODE "
  set(units \"ndlfs@.service${serve_unit}\")
  set(unit_sources \"${PROJECT_SOURCE_DIR}/packaging/systemd\")
  set(unit_dir \"${NDLFS_UNIT_DIR}\")
  set(bindir \"${CMAKE_INSTALL_BINDIR}\")")
install(CODE [[
  cmake_path(ABSOLUTE_PATH bindir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
  cmake_path(ABSOLUTE_PATH unit_dir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
  set(NDLFS_PROGRAM "${bindir}/ndlfs")
  foreach(unit ${units})
    configure_file("${unit_sources}/${unit}.in" "$ENV{DESTDIR}${unit_dir}/${unit}" @ONLY)
    message(STATUS "Installing: $ENV{DESTDIR}${unit_dir}/${unit}")
  endforeach()
]])
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES
  packaging/systemd/mnt-ndl.mount packaging/systemd/mnt-ndl.automount
  packaging/systemd/fstab.example packaging/systemd/example.conf
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
# README.md links to the recipes and the picture.
install(FILES examples/make_data.py examples/zarr3.py examples/RECIPES.md examples/preview.png
  examples/kubernetes.yaml
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
