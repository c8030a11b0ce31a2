# Installs the build BINARY into an empty prefix, then configures, builds and runs the project SOURCE against it.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY COMMAND_ECHO STDOUT)
endfunction()

set(work ${BINARY}/install-test)
file(REMOVE_RECURSE ${work})
run(${CMAKE_COMMAND} --install ${BINARY} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${work}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${work}/prefix
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=${TYPE})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/client)
if(EXISTS ${work}/prefix/bin/liftc)
  run(${work}/prefix/bin/liftc --help)
endif()
