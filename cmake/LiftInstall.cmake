# Installs the libraries, the headers, liftc, and the package that find_package(lift) finds.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# lift::lift is all modules; each is also a target of its own (lift::nat, lift::ir, …).
get_property(modules GLOBAL PROPERTY LIFT_MODULES)
list(TRANSFORM modules PREPEND lift_ OUTPUT_VARIABLE libraries)
add_library(lift INTERFACE)
add_library(lift::lift ALIAS lift)
target_link_libraries(lift INTERFACE ${libraries})

install(TARGETS lift ${libraries} EXPORT liftTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET liftc)
  install(TARGETS liftc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lift DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/lift)
install(EXPORT liftTargets NAMESPACE lift:: DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/liftConfig.cmake.in ${PROJECT_BINARY_DIR}/liftConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/liftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/liftConfig.cmake ${PROJECT_BINARY_DIR}/liftConfigVersion.cmake
        DESTINATION ${package})
