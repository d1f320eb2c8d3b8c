# What `cmake --install` puts where. mount(8) looks for /sbin/mount.ndlfs when
# it finds the type ndlfs in fstab, so install below /usr for that to work.
include(GNUInstallDirs)

install(TARGETS ndlfs RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(CODE [[
  set(folder "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/sbin")
  file(MAKE_DIRECTORY "${folder}")
  file(CREATE_LINK ../bin/ndlfs "${folder}/mount.ndlfs" SYMBOLIC)
  message(STATUS "Installing: ${folder}/mount.ndlfs -> ../bin/ndlfs")
]])
install(FILES man/ndlfs.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES man/ndl.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
