# The allocator on the shared heap: jemalloc, as memkind bundles it. That build of jemalloc is the right
# one for a library: it can be loaded by dlopen, because its thread-local data needs no room in the
# static TLS block (that of libjemalloc_pic.a does, and is refused then).
#
# All its symbols get a prefix of ours, so that it lives beside any allocator of the program and
# exports nothing. Without it the build goes on and the heap says why it is off.
option(QUADRILLE_HEAP "Build the shared heap" ON)
find_library(QUADRILLE_MEMKIND NAMES libmemkind.a DOC "Static library of memkind, with its jemalloc")
if(QUADRILLE_HEAP AND NOT QUADRILLE_MEMKIND)
  message(WARNING "libmemkind.a was not found: Quadrille is built without the shared heap")
endif()
if(QUADRILLE_HEAP AND QUADRILLE_MEMKIND)
  set(_jemalloc ${CMAKE_BINARY_DIR}/jemalloc/libquadrille_jemalloc.a)
  add_custom_command(OUTPUT ${_jemalloc}
    COMMAND ${CMAKE_COMMAND} -E env AR=${CMAKE_AR} NM=${CMAKE_NM} OBJCOPY=${CMAKE_OBJCOPY}
            sh ${CMAKE_SOURCE_DIR}/cmake/rename_jemalloc.sh ${QUADRILLE_MEMKIND} ${_jemalloc}
    DEPENDS ${QUADRILLE_MEMKIND} ${CMAKE_SOURCE_DIR}/cmake/rename_jemalloc.sh
    COMMENT "Renaming the symbols of jemalloc" VERBATIM)
  add_custom_target(quadrille_jemalloc_archive DEPENDS ${_jemalloc})
  add_library(quadrille_jemalloc INTERFACE)
  add_dependencies(quadrille_jemalloc quadrille_jemalloc_archive)
  target_link_libraries(quadrille_jemalloc INTERFACE ${_jemalloc} m)
  target_compile_definitions(quadrille_jemalloc INTERFACE QUADRILLE_HAVE_HEAP=1)
endif()
