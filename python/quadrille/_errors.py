"""The exceptions of the package."""


class Error(RuntimeError):
  """A call failed. `code` is the MPI's error code, or None if the call did not reach the C API."""

  def __init__(self, text, code=None):
    super().__init__(text)
    self.code = code


class TooLate(Error):
  """enable() was called too late: mpi4py has found its functions, or MPI is initialised."""
