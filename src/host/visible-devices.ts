import { devicesAmong, type Footprint } from './memory.ts'

/**
 * Variables under which the GPU libraries see only the devices that a footprint has bytes on, numbered as the drivers number them (CUDA: by PCI
 * bus, as `nvidia-smi` does; ROCm; Vulkan in llama.cpp). To be set before such a library is started: llama.cpp spreads a model over all it sees. What the
 * operator has set himself stays. Sources: NVIDIA's CUDA programming guide, "CUDA environment variables"; AMD's ROCm documentation, "GPU
 * isolation"; llama.cpp, docs/build.md.
 */
export function visibleDevices(
  footprint: Footprint,
  ours: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const numbers = devicesAmong(footprint)
    .map((domain) => domain.slice('gpu:'.length))
    .join(',')
  if (numbers === '') return {}
  const variables = {
    CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
    CUDA_VISIBLE_DEVICES: numbers,
    HIP_VISIBLE_DEVICES: numbers,
    GGML_VK_VISIBLE_DEVICES: numbers,
  }
  return Object.fromEntries(Object.entries(variables).filter(([name]) => ours[name] === undefined))
}
