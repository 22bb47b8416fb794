"""python -m quadrille prefix: where bin, lib, include and share are. With other words: the command `quadrille`."""

import sys

from quadrille import _command, _places

if sys.argv[1:] == ["prefix"]:
  print(_places.prefix())
else:
  sys.exit(_command.main())
