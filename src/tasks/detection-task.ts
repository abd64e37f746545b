/** Things on a picture, and where they are. */
export interface DetectionTask {
  kind: 'detection'
  /** Bytes of a whole image file. */
  image: Uint8Array
  /** 0…1: only what is as likely as this. Absent = 0.5. */
  threshold?: number
}

/** A part of a picture in pixels from its upper left corner, as it is seen upright. */
export interface ImageBox {
  left: number
  top: number
  right: number
  bottom: number
}
