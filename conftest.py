"""What all test runs share: kernels that import this checkout, and outputs that nbval must not compare."""

import os
import tempfile
import uuid
from pathlib import Path

import nbval.kernel
import pytest
from jupyter_client.manager import AsyncKernelManager, KernelManager
from traitlets import CaselessStrEnum, HasTraits, default

ROOT = Path(__file__).resolve().parent
os.environ["PYTHONPATH"] = str(ROOT / "src")  # never a stale install of another checkout
os.environ.pop("MPLBACKEND", None)  # "agg" would take all figures out of the notebooks

# Pictures differ between machines by a few pixels; the tests of the figures look at the data behind them.
NOT_COMPARED = ("image/png", "application/papermill.record/image/png")


class _OnSocket(HasTraits):
    """Talk to the kernel over Unix sockets of its own: two kernels started at once can be handed one TCP port."""

    transport = CaselessStrEnum(["tcp", "ipc"], default_value="ipc", config=True)

    @default("ip")
    def _socket(self):
        return str(Path(tempfile.gettempdir(), f"kernel-{uuid.uuid4().hex}"))


class SocketKernelManager(_OnSocket, KernelManager):
    pass


class AsyncSocketKernelManager(_OnSocket, AsyncKernelManager):
    pass


if os.name == "posix":
    nbval.kernel.KernelManager = SocketKernelManager


@pytest.fixture
def kernel_manager():
    """The class that starts the kernels of papermill."""
    return AsyncSocketKernelManager if os.name == "posix" else AsyncKernelManager


def pytest_collectstart(collector):
    if collector.path.suffix == ".ipynb":
        collector.skip_compare = (*getattr(collector, "skip_compare", ()), *NOT_COMPARED)
