"""What goes wrong, as exceptions."""


class Error(RuntimeError):
  """A call failed. `code` is the MPI's error code, or None if the call did not come to the MPI."""

  def __init__(self, text, code=None):
    super().__init__(text)
    self.code = code


class TooLate(Error):
  """enable() was called when calls of MPI could no longer be led to Quadrille."""
