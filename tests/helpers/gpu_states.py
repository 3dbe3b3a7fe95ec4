"""States for kernels of GPUs, and where they lie."""

import numpy as np

from linkwise.kernels.kernel import Kernel
from linkwise.targets.cuda.driver import device
from linkwise.targets.cuda.memory import DeviceArray


def given(kernel: Kernel, count: int) -> list[np.ndarray]:
    """States about 1, some with angles far from zero, one with NaN and one that is infinite."""
    rng = np.random.default_rng(count)
    arrays = [rng.normal(size=(count, *x.shape)) for x in kernel.interface.inputs]
    arrays[0][::3] *= 10.0 ** rng.uniform(-2.0, 9.0, arrays[0][::3].shape)
    if count > 8:
        arrays[0].reshape(count, -1)[5, 0] = np.nan
        arrays[-1].reshape(count, -1)[8, -1] = -np.inf
    return [x.astype(kernel.interface.dtype) for x in arrays]


def on_gpu(array: np.ndarray) -> DeviceArray:
    return DeviceArray(device(0), array.shape, array.dtype.name).copy_from(array)
