"""Nonblocking and persistent requests."""

import ctypes

from quadrille import _library
from quadrille._errors import Error


class Request:
  """A nonblocking or persistent call: start and completion are separate.

  A persistent request may be started repeatedly, and must be freed (or used in a `with`). A request holds references to
  its buffers. A pending request makes progress in wait(), test() and other calls of Quadrille. Complete every request:
  Python does not complete a dropped one.
  """

  def __init__(self, library, persistent, keep):
    self._library = library
    self._handle = ctypes.c_void_p()
    self._keep = keep
    self.persistent = persistent

  def _live(self, what):
    if not self._handle.value:
      raise Error(f"quadrille.Request.{what}: the request is " +
                  ("freed" if self.persistent else "complete") + " already")

  def start(self):
    """Starts a persistent request."""
    self._live("start")
    self._library.call("Start", ctypes.byref(self._handle))

  def start_enqueue(self, stream=None):
    """Starts a persistent request in the order of a stream. The stream completes it; wait() and test() do not."""
    from quadrille import _enqueue  # pylint: disable=import-outside-toplevel
    self._live("start_enqueue")
    self._library.call("Start_enqueue", ctypes.byref(self._handle), _enqueue._stream(stream))  # pylint: disable=protected-access

  def wait(self):
    """Waits until the request is complete."""
    self._library.call("Wait", ctypes.byref(self._handle))
    self._done()

  def test(self):
    """Whether the request is complete. Does not wait."""
    flag = ctypes.c_int(0)
    self._library.call("Test", ctypes.byref(self._handle), ctypes.byref(flag))
    if flag.value:
      self._done()
    return bool(flag.value)

  def free(self):
    """Frees a persistent request that is not pending."""
    self._library.call("Request_free", ctypes.byref(self._handle))
    self._done()

  def _done(self):
    if not self._handle.value:
      self._keep = None

  def __enter__(self):
    return self

  def __exit__(self, kind, value, trace):
    if self._handle.value:
      self.wait()
      if self.persistent:
        self.free()


def _array(requests):
  return (ctypes.c_void_p * max(len(requests), 1))(*[request._handle for request in requests])


def _back(requests, array):
  for request, handle in zip(requests, array):
    request._handle.value = handle
    request._done()


def startall(requests):
  """Starts several persistent requests."""
  for request in requests:
    request._live("start")
  array = _array(requests)
  _library.library().call("Startall", ctypes.c_int(len(requests)), array)


def waitall(requests):
  """Waits until all requests are complete."""
  array = _array(requests)
  try:
    _library.library().call("Waitall", ctypes.c_int(len(requests)), array)
  finally:
    _back(requests, array)


def testall(requests):
  """Completes all requests and returns True, or completes none and returns False. Does not wait."""
  array, flag = _array(requests), ctypes.c_int(0)
  try:
    _library.library().call("Testall", ctypes.c_int(len(requests)), array, ctypes.byref(flag))
  finally:
    _back(requests, array)
  return bool(flag.value)


def _any(name, requests, *more):
  """The index of the completed request, or None."""
  library, array, index = _library.library(), _array(requests), ctypes.c_int(0)
  try:
    library.call(name, ctypes.c_int(len(requests)), array, ctypes.byref(index), *more)
  finally:
    _back(requests, array)
  return None if index.value == library.MPI.UNDEFINED else index.value


def waitany(requests):
  """Waits for one request and completes it. Returns its index in the list, or None if no request is active."""
  return _any("Waitany", requests)


def testany(requests):
  """Completes one request if possible. Does not wait. Returns (its index in the list or None, flag): the flag is true
  if a request was completed, or if none is active."""
  flag = ctypes.c_int(0)
  index = _any("Testany", requests, ctypes.byref(flag))
  return index, bool(flag.value)
