/**
 * What drivers' commands print. Each from the source it names; only the number of lines was cut.
 */

/** Two cards; format of `nvidia-smi --query-gpu=index,uuid,name,memory.total,memory.free --format=csv,noheader,nounits` by NVIDIA's manual ("nvidia-smi --help-query-gpu": sizes in MiB). */
export const NVIDIA_TWO_CARDS: string = [
  '1, GPU-8b3f1e2a-0000-0000-0000-000000000001, NVIDIA GeForce RTX 3060, 12288, 11930',
  '0, GPU-8b3f1e2a-0000-0000-0000-000000000000, NVIDIA GeForce RTX 4090, 24564, 20112',
].join('\n')

/** The same with `utilization.gpu` in percent; `[N/A]` where the driver does not tell it, as for a card that is divided (MIG user guide). */
export const NVIDIA_BUSY: string = [
  '0, GPU-8b3f1e2a-0000-0000-0000-000000000000, NVIDIA GeForce RTX 4090, 24564, 20112, 37',
  '1, GPU-8b3f1e2a-0000-0000-0000-000000000001, NVIDIA T4, 15360, 15000, [N/A]',
].join('\n')

/** `--query-compute-apps=pid,gpu_uuid,used_gpu_memory`, the same manual; `[N/A]` is what Windows (WDDM) prints for processes. */
export const NVIDIA_PROCESSES: string = [
  '4711, GPU-8b3f1e2a-0000-0000-0000-000000000000, 4096',
  '4712, GPU-8b3f1e2a-0000-0000-0000-000000000001, [N/A]',
].join('\n')

/** DGX Spark (GB10), whose memory is unified: all sizes are `[N/A]` (github.com/unslothai/unsloth/pull/10283, github.com/XuehaiPan/nvitop/pull/208). */
export const NVIDIA_UNIFIED = '0, GPU-2dee1e25-b3b5-007e-2b55-79f2d0f2ebe5, NVIDIA GB10, [N/A], [N/A]'

/** Printed with exit code 9 when the kernel module is not loaded (NVIDIA's driver installation guide, troubleshooting). */
export const NVIDIA_NO_DRIVER: string =
  "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n"

/** `vm_stat` of an Apple silicon Mac (sweepformac.com/guides/mac-vm-stat-command). */
export const VM_STAT_APPLE_SILICON = `Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                              123456.
Pages active:                            789012.
Pages inactive:                          345678.
Pages speculative:                        12345.
Pages throttled:                              0.
Pages wired down:                        234567.
Pages purgeable:                          56789.
"Translation faults":                  98765432.
File-backed pages:                       456789.
Anonymous pages:                         678901.
Pages stored in compressor:              123456.
Pages occupied by compressor:             45678.
`

/** `vm_stat` of Mac OS X 10.6, which told neither purgeable nor file-backed pages (newbetuts.com/81581). */
export const VM_STAT_OLD = `Mach Virtual Memory Statistics: (page size of 4096 bytes)
Pages free: 90518.
Pages active: 205479.
Pages inactive: 32417.
Pages speculative: 134461.
Pages wired down: 61009.
"Translation faults": 26323651.
`

/** `/proc/pressure/memory`, from the Linux kernel's documentation of PSI (Documentation/accounting/psi.rst gives the format). */
export const PRESSURE_HIGH = `some avg10=34.12 avg60=12.50 avg300=3.01 total=123456789
full avg10=20.40 avg60=8.10 avg300=2.00 total=98765432
`
