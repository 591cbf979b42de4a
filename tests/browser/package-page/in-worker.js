import { createGuardedDevice } from "/pkg/wellwritten.js";
import { threeKernels } from "/three-kernels.js";

const device = await createGuardedDevice({ backend: "webgpu" });
postMessage({ backend: device.backend().kind, answers: await threeKernels(device) });
device.close();
