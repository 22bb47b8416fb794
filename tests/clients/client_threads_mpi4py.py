"""client_mpi4py.py in a process in which Python has one more thread, as notebooks have."""
import pathlib
import runpy
import threading
import time

threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
runpy.run_path(str(pathlib.Path(__file__).with_name('client_mpi4py.py')))
