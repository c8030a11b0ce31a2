# One library per folder of src/, one test executable per folder of tests/.

# lift_precompiled(NAME HEADERS headers LINK libraries): headers that targets with the same libraries of options reuse.
function(lift_precompiled name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINK" ${ARGN})
  if(NOT LIFT_PCH)
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/generated/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Precompiled headers are those of a target with a source.\n")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# lift_reuse(TARGET NAME): compiles the target with the precompiled headers NAME.
function(lift_reuse target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

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
  lift_reuse(lift_${name} lift_headers)
  set_target_properties(lift_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY LIFT_MODULES ${name})
endfunction()

# lift_test_options(TARGET libraries): how tests are compiled.
function(lift_test_options target)
  target_link_libraries(${target} PRIVATE ${ARGN} fmt::fmt Catch2::Catch2 lift_test_code_options)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE LIFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                               LIFT_BINARY_DIR="${PROJECT_BINARY_DIR}")
  lift_reuse(${target} lift_test_headers)
endfunction()

# lift_test_objects(NAME SOURCES files LINK libraries): files of several tests, compiled once.
function(lift_test_objects name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  list(TRANSFORM arg_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/tests/)
  add_library(${name} OBJECT ${arg_SOURCES})
  lift_test_options(${name} ${arg_LINK})
endfunction()

# lift_tests(NAME [TEAM] LABELS labels LINK libraries [TIMEOUT seconds] [WITH parts]): builds tests/NAME/*.cpp with Catch2; every
# case is a ctest test. The parts are objects shared with other tests (lift_test_objects). Tests with a timeout of their
# own are long: they start first, so that processors are busy to the end.
# Labels say what a test needs: `null` nothing but the processor, `cl` an OpenCL device.
function(lift_tests name)
  cmake_parse_arguments(arg "TEAM" "TIMEOUT" "LABELS;LINK;WITH" ${ARGN})
  if(NOT LIFT_DEVICE_TESTS AND "cl" IN_LIST arg_LABELS)
    return()
  endif()
  set(limit TIMEOUT 300)
  if(arg_TIMEOUT)
    set(limit TIMEOUT ${arg_TIMEOUT} COST ${arg_TIMEOUT})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  set(shared lift_catch_main)
  foreach(part IN LISTS arg_WITH)
    get_target_property(files ${part} SOURCES)
    list(REMOVE_ITEM sources ${files})
    list(APPEND shared ${part})
  endforeach()
  add_executable(test_${name} ${sources})
  foreach(part IN LISTS shared)
    target_sources(test_${name} PRIVATE $<TARGET_OBJECTS:${part}>)
  endforeach()
  set_target_properties(test_${name} PROPERTIES LIFT_SHARED "${shared}")
  lift_test_options(test_${name} ${arg_LINK})
  set(environment)
  if(arg_TEAM)  # runtime::requestTeams() for PoCL
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
    string(REPEAT " basic" ${cores} members)
    set(environment ENVIRONMENT "POCL_DEVICES=pthread${members}")
  endif()
  catch_discover_tests(test_${name} TEST_PREFIX "${name}: " PROPERTIES LABELS "${arg_LABELS}" ${limit} ${environment})
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
      set(label cl)
    endif()
    add_test(NAME "${name}: ${stem}" COMMAND run_case ${case} ${PROJECT_SOURCE_DIR} $<TARGET_FILE_DIR:liftc>
                                             ${PROJECT_BINARY_DIR}/cases/${name}/${stem})
    set_tests_properties("${name}: ${stem}" PROPERTIES LABELS "${label}" TIMEOUT 300 SKIP_RETURN_CODE 77)
  endforeach()
endfunction()
