# One library per folder of src/, one test executable per folder of tests/.

# lift_module(NAME DEPENDS other modules LINK further libraries): builds src/NAME/*.cpp as the library lift_NAME.
function(lift_module name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(lift_${name} STATIC ${sources})
  add_library(lift::${name} ALIAS lift_${name})
  target_include_directories(lift_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                 $<INSTALL_INTERFACE:include>)
  target_include_directories(lift_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src/${name})
  target_compile_features(lift_${name} PUBLIC cxx_std_20)
  foreach(other IN LISTS arg_DEPENDS)
    if(TARGET lift_${other})
      target_link_libraries(lift_${name} PUBLIC lift_${other})
    endif()
  endforeach()
  target_link_libraries(lift_${name} PUBLIC ${arg_LINK} PRIVATE $<BUILD_INTERFACE:lift_options>)
  set_target_properties(lift_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY LIFT_MODULES ${name})
endfunction()

# lift_tests(NAME LABELS labels LINK libraries [TIMEOUT seconds]): builds tests/NAME/*.cpp with Catch2; every case is a
# ctest test.
# Labels say what a test needs: `null` nothing but the processor, `cl` an OpenCL device.
function(lift_tests name)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;LINK" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources} $<TARGET_OBJECTS:lift_catch_main>)
  target_link_libraries(test_${name} PRIVATE ${arg_LINK} Catch2::Catch2 lift_driver_options)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE LIFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                                  LIFT_BINARY_DIR="${PROJECT_BINARY_DIR}")
  catch_discover_tests(test_${name} TEST_PREFIX "${name}: " PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

# lift_cases(NAME): every tests/NAME/*.test is a ctest test, run by run_case (format: tests/diagnostics/README.md).
function(lift_cases name)
  file(GLOB cases CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*.test)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${cases})  # for their labels
  foreach(case IN LISTS cases)
    cmake_path(GET case STEM stem)
    file(STRINGS ${case} needs REGEX "^needs: ")
    set(label null)
    if(needs)
      string(REPLACE "needs: " "" label "${needs}")
    endif()
    add_test(NAME "${name}: ${stem}" COMMAND run_case ${case} ${PROJECT_SOURCE_DIR} $<TARGET_FILE_DIR:liftc>
                                             ${PROJECT_BINARY_DIR}/cases/${name}/${stem})
    set_tests_properties("${name}: ${stem}" PROPERTIES LABELS "${label}" TIMEOUT 300)
  endforeach()
endfunction()
