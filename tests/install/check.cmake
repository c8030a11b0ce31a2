# Installs the build BINARY into an empty prefix, then configures, builds and runs the project of README, a Markdown file:
# its blocks of CMake and C++ (APP.cpp), as a reader would copy them. With COMMANDS, its block of sh is what is run.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY COMMAND_ECHO STDOUT)
endfunction()

# The one block of a language, written to a file.
function(extract language file)
  file(READ ${README} text)
  string(FIND "${text}" "\n```${language}\n" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${README} has no block of ${language}")
  endif()
  string(LENGTH "\n```${language}\n" length)
  math(EXPR begin "${begin} + ${length}")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "\n```" end)
  math(EXPR end "${end} + 1")
  string(SUBSTRING "${text}" 0 ${end} text)
  file(WRITE ${file} "${text}")
endfunction()

# The application of the document: its blocks of CMake and C++, in a folder of their own.
get_filename_component(name ${README} NAME_WE)
set(work ${BINARY}/install-test/${name})
file(REMOVE_RECURSE ${work})
run(${CMAKE_COMMAND} --install ${BINARY} --prefix ${work}/prefix)
extract(cmake ${work}/app/CMakeLists.txt)
extract(cpp ${work}/app/${APP}.cpp)
run(${CMAKE_COMMAND} -S ${work}/app -B ${work}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${work}/prefix
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=${TYPE})
run(${CMAKE_COMMAND} --build ${work}/build)
if(COMMANDS)
  # Its block of shell commands runs the application, with data of its own.
  extract(sh ${work}/commands.sh)
  run(${CMAKE_COMMAND} -E env PATH=${work}/build:$ENV{PATH} XDG_DATA_HOME=${work}/data bash -ex ${work}/commands.sh)
else()
  run(${work}/build/${APP})
endif()
if(EXISTS ${work}/prefix/bin/liftc)
  run(${work}/prefix/bin/liftc --help)
endif()
