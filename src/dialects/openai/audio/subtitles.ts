/** What is said from one second to another. */
export interface Segment {
  start: number
  end: number
  text: string
}

/** Subtitles as SubRip or WebVTT files have them. */
export function subtitles(segments: readonly Segment[], format: 'srt' | 'vtt'): string {
  const blocks = segments.map(({ start, end, text }, index) => {
    const times = `${time(start, format)} --> ${time(end, format)}`
    const said = text.trim().replaceAll('-->', '->')
    return format === 'srt' ? `${index + 1}\n${times}\n${said}\n\n` : `${times}\n${said}\n\n`
  })
  return `${format === 'vtt' ? 'WEBVTT\n\n' : ''}${blocks.join('')}`
}

function time(seconds: number, format: 'srt' | 'vtt'): string {
  const milliseconds = Math.round(seconds * 1000)
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  const clock = [
    two(milliseconds / 3_600_000),
    two((milliseconds / 60_000) % 60),
    two((milliseconds / 1000) % 60),
  ]
  const rest = String(milliseconds % 1000).padStart(3, '0')
  return `${clock.join(':')}${format === 'srt' ? ',' : '.'}${rest}`
}
