# cmake -DSOURCE=... -DOUT=... -P commit.cmake: writes which commit the sources are, for the data of figures. The file is
# left alone if nothing has changed. Sources without a repository have none.
find_program(GIT git)
set(commit "")
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT} -C ${SOURCE} status --porcelain --untracked-files=no -- src lab include
                  OUTPUT_VARIABLE changed ERROR_QUIET)
  if(commit AND changed)
    string(APPEND commit "+")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#pragma once\n#define QUADRILLE_COMMIT \"${commit}\"\n")
