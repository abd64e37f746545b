/** Bounds of the header reader. A file that needs more than these is refused, whatever its own numbers say (S5, BR-23). */

/** Bytes read at once; everything that is looked at in place fits one window. */
export const WINDOW: number = 256 * 1024
/** Keys known from the field: at most ~200. */
export const MAX_KEYS = 4096
export const MAX_KEY_BYTES = 1024
/** Large mixtures of experts have a few thousand tensors. */
export const MAX_TENSORS = 16_384
/** `GGML_MAX_NAME` is 64 with its final zero; engines refuse longer names. */
export const MAX_TENSOR_NAME_BYTES = 63
export const MAX_DIMENSIONS = 4
/** Largest text kept: a chat template. */
export const MAX_TEXT_BYTES: number = 1024 * 1024
/** Largest known vocabulary: 262,144. */
export const MAX_VOCABULARY: number = 1 << 20
export const MAX_TOKEN_BYTES: number = 64 * 1024
/** Numbers kept from arrays (per-layer values), over all keys. */
export const MAX_KEPT_NUMBERS = 65_536
/** Engines stop at 512 or 1,024. */
export const MAX_LAYERS = 4096
