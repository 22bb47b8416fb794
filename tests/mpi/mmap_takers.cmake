# Another library takes mmap over, as UCX does: before Quadrille looks, or in MPI_Init; it tells of what it sees,
# or not. Either Quadrille learns what the program maps, or it shares no memory of the program.
if(QUADRILLE_MPI STREQUAL "openmpi" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_library(quadrille_mmap_taker SHARED mmap_taker.c)
  target_link_libraries(quadrille_mmap_taker PRIVATE ${CMAKE_DL_LIBS})
  add_library(quadrille_mmap_teller SHARED mmap_taker.c)
  target_link_libraries(quadrille_mmap_teller PRIVATE ${CMAKE_DL_LIBS})
  target_compile_definitions(quadrille_mmap_teller PRIVATE TELLS)
  set_target_properties(quadrille_mmap_teller PROPERTIES OUTPUT_NAME ucm SOVERSION 0
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/standin-ucx)
  # $1: taker or teller; $2: what TAKE_MMAP says; then the text that is expected.
  function(quadrille_mmap_test library mode text)
    set(before $<TARGET_FILE:quadrille_mmap_${library}>:)
    set(after)
    if("${mode}" STREQUAL "load")  # what is preloaded later is initialised earlier
      set(before)
      set(after :$<TARGET_FILE:quadrille_mmap_${library}>)
    endif()
    # Nothing is known of dropped pages where nobody tells.
    set(filter "Memory*:UniformDefault*")
    if("${text}" MATCHES "not shared")
      string(APPEND filter ":-Memory.DroppedPagesAreZeros")
    endif()
    add_test(NAME mpi.mmap-${library}.${mode} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/says.sh "${text}" --
             ${QUADRILLE_MPIRUN} -n 3 ${QUADRILLE_ENV}
             LD_PRELOAD=${before}$<TARGET_FILE:quadrille_preload>${after}
             $<TARGET_FILE:quadrille_dropin_tests> "--gtest_filter=${filter}")
    # The MPI's own users of UCX must not find the stand-in.
    set_tests_properties(mpi.mmap-${library}.${mode} PROPERTIES LABELS mpi RUN_SERIAL TRUE TIMEOUT 300 ENVIRONMENT
      "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_pml=ob1;OMPI_MCA_osc=^ucx;OMPI_MCA_btl=self,vader,tcp;QUADRILLE_TUNING=none;QUADRILLE_REACH=heap;QUADRILLE_INBOX=64;QUADRILLE_SETUP_AFTER=0;QUADRILLE_EXPLAIN=1;TAKE_MMAP=${mode}")
  endfunction()
  quadrille_mmap_test(taker init "memory is not shared")
  quadrille_mmap_test(taker load "memory is not shared")
  quadrille_mmap_test(teller init "reports what the program maps: its memory is shared")
  quadrille_mmap_test(teller load "reports what the program maps: its memory is shared")
  quadrille_mmap_test(teller silent "memory is not shared")
endif()
