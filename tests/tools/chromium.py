"""A browser without a screen, driven over its debugging pipe. Needs Chromium only, no package of Python."""
import base64
import json
import os
import shutil
import subprocess
import tempfile

NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
# The sandbox needs rights that a container may lack; a small /dev/shm stops pictures of long pages.
OPTIONS = ('--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--remote-debugging-pipe',
           '--disable-extensions', '--disable-background-networking', '--disable-component-update', '--no-first-run')


def program():
  return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
  """One tab. Commands and answers are JSON, each ended by a zero byte; the browser reads file 3 and writes file 4."""

  def __enter__(self):
    self.folder = tempfile.TemporaryDirectory()
    (reads, self.to_browser), (self.from_browser, writes) = os.pipe(), os.pipe()

    def place():
      # Copies above 4 first: a pipe may have number 3 or 4 itself.
      high = os.dup(reads), os.dup(writes)
      high = [os.dup(file) if file < 5 else file for file in high]
      os.dup2(high[0], 3)
      os.dup2(high[1], 4)

    self.process = subprocess.Popen([program(), *OPTIONS, f'--user-data-dir={self.folder.name}', 'about:blank'], preexec_fn=place,
                                    close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    env={**os.environ, 'HOME': self.folder.name})
    os.close(reads)
    os.close(writes)
    self.left, self.number, self.session = b'', 0, None
    tab = self('Target.createTarget', url='about:blank')['targetId']
    self.session = self('Target.attachToTarget', targetId=tab, flatten=True)['sessionId']
    self('Page.enable')
    self.frame = self('Page.getFrameTree')['frameTree']['frame']['id']
    self.opened = None
    return self

  def __exit__(self, *_):
    self.process.kill()
    self.process.wait()
    os.close(self.to_browser)
    os.close(self.from_browser)
    shutil.rmtree(self.folder.name, ignore_errors=True)

  def message(self):
    while b'\0' not in self.left:
      more = os.read(self.from_browser, 1 << 20)
      if not more:
        raise RuntimeError('the browser ended')
      self.left += more
    one, self.left = self.left.split(b'\0', 1)
    return json.loads(one)

  def __call__(self, method, **parameters):
    self.number += 1
    command = {'id': self.number, 'method': method, 'params': parameters}
    if self.session:
      command['sessionId'] = self.session
    text = json.dumps(command).encode() + b'\0'
    while text:
      text = text[os.write(self.to_browser, text):]
    while True:
      answer = self.message()
      if answer.get('id') == self.number:
        if 'error' in answer:
          raise RuntimeError(f'{method}: {answer["error"]}')
        return answer['result']

  def resize(self, width, height=800):
    """The window has this width; below 500 pixels it is a phone's."""
    self('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=width < 500)

  def scheme(self, dark):
    self('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'},
                                                 {'name': 'prefers-reduced-motion', 'value': 'reduce'}])

  def open(self, address, width, dark=False):
    """Opens a page as a window of this width shows it, and waits until its scripts have run."""
    self.resize(width)
    self.scheme(dark)
    # A change of the fragment alone loads nothing.
    page = address.split('#')[0]
    if page == self.opened:
      self('Page.navigate', url='about:blank')
    self.opened = page
    self('Page.navigate', url=address)
    self.value('new Promise((done) => document.readyState === "complete" ? done() : addEventListener("load", done))')

  def write(self, page):
    """Shows this HTML; cheaper than opening a file."""
    self.opened = None
    self('Page.setDocumentContent', frameId=self.frame, html=page)

  def value(self, script):
    answer = self('Runtime.evaluate', expression=script, awaitPromise=True, returnByValue=True)
    if 'exceptionDetails' in answer:
      details = answer['exceptionDetails']
      raise RuntimeError(details.get('exception', {}).get('description', details['text']))
    return answer['result'].get('value')

  def picture(self, path, whole=True):
    """The whole page, or the part that the window shows."""
    shot = self('Page.captureScreenshot', format='png', captureBeyondViewport=whole, optimizeForSpeed=True)
    with open(path, 'wb') as file:
      file.write(base64.b64decode(shot['data']))
