"""`python -m quadrille prefix` prints the folder of bin, lib, include and share; other arguments go to `quadrille`."""

import sys

from quadrille import _command, _places

if sys.argv[1:] == ["prefix"]:
  print(_places.prefix())
else:
  sys.exit(_command.main())
