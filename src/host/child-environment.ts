/**
 * Variables a worker gets from ours: what programs need to run and what steers the GPU and math libraries. Everything else stays
 * here, above all tokens and keys; `NODE_OPTIONS` too, which would be loaded into every worker.
 */
const PASSED = [
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|TZ|TMPDIR|TEMP|TMP)$/i,
  /^LC_/,
  /^(SYSTEMROOT|WINDIR|SYSTEMDRIVE|COMSPEC|PATHEXT|USERPROFILE|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES.*)$/i,
  /^(LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|DYLD_FALLBACK_LIBRARY_PATH|XDG_.*)$/,
  /^(CUDA|NVIDIA|HIP|ROCR|ROCM|HSA|GPU|VK|VULKAN|MESA|METAL|MTL|GGML|ONEAPI|SYCL|ZE|OMP|KMP|MKL|OPENBLAS)_/,
  /^(HF_HOME|HF_HUB_CACHE|HF_HUB_OFFLINE)$/,
]

const SECRET = /TOKEN|SECRET|PASSWORD|API_?KEY|CREDENTIAL/i

/** The environment of a child: the passed ones of ours, then `additions`, which win. */
export function childEnvironment(
  additions: Record<string, string> = {},
  ours: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const [name, value] of Object.entries(ours)) {
    if (value === undefined || SECRET.test(name)) continue
    if (PASSED.some((pattern) => pattern.test(name))) environment[name] = value
  }
  return { ...environment, ...additions }
}
