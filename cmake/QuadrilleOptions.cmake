# Flags that every target of the project shares: target_link_libraries(x PRIVATE quadrille_options).
# Builds with QUADRILLE_MPI have that target from the product's.
if(NOT QUADRILLE_MPI)
  add_library(quadrille_options INTERFACE)
  target_compile_options(quadrille_options INTERFACE -Wall -Wextra -Wpedantic)
  target_include_directories(quadrille_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}
                                                         ${CMAKE_SOURCE_DIR}/include)
  if(QUADRILLE_SANITIZE)
    target_compile_options(quadrille_options INTERFACE -fsanitize=${QUADRILLE_SANITIZE}
                           -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    target_link_options(quadrille_options INTERFACE -fsanitize=${QUADRILLE_SANITIZE})
  endif()
endif()
# For what runs inside malloc.
set(QUADRILLE_BEFORE_SANITIZER)
if(QUADRILLE_SANITIZE MATCHES "address")
  set(QUADRILLE_BEFORE_SANITIZER -fno-sanitize=address)
endif()
if(QUADRILLE_SANITIZE)
  string(REPLACE "-O2" "-O1" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
endif()

# quadrille_needs_no_speed(targets or files...): what reads options, runs programs and writes pages. To optimise it well takes half
# as long again. Nothing in it is timed: that is in quadrille_tools_bench and the library.
function(quadrille_needs_no_speed)
  foreach(target ${ARGN})
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo,Release>:-O1>)
    else()
      set_source_files_properties(${target} PROPERTIES COMPILE_OPTIONS -O1)
    endif()
  endforeach()
endfunction()

# quadrille_together(targets...): several sources of a target are compiled as one, which takes half the time. So what
# they hide in namespaces without a name must have different names. `make test-all` compiles each source alone, too.
# Up to 16 sources are one group; of more, a hash of its name says in which group a source is: a new one changes one group.
option(QUADRILLE_TOGETHER "Compile several sources as one" ON)
function(quadrille_together)
  if(NOT QUADRILLE_TOGETHER)
    return()
  endif()
  foreach(target ${ARGN})
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "[.]c(pp)?$")
    list(LENGTH sources count)
    set(groups 1)
    while(count GREATER 16)
      math(EXPR groups "${groups} * 2")
      math(EXPR count "${count} / 2")
    endwhile()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    if(groups GREATER 1)
      set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
      foreach(source ${sources})
        cmake_path(GET source FILENAME name)
        string(MD5 hash ${name})
        string(SUBSTRING ${hash} 0 4 digits)
        math(EXPR group "0x${digits} % ${groups}")
        set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${group})
      endforeach()
    endif()
  endforeach()
endfunction()
