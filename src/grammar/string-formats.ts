import { characters, choice, optional, repeat, sequence, text, type Expression } from './expression.ts'

const DIGIT = characters('0-9')
const HEX = characters('0-9a-f')
const ALPHANUMERIC = characters('a-z0-9')

const digits = (count: number): Expression => repeat(DIGIT, count, count)
const oneOf = (...texts: string[]): Expression => choice(...texts.map(text))

const UP_TO_28 = choice(
  sequence(text('0'), characters('1-9')),
  sequence(text('1'), DIGIT),
  sequence(text('2'), characters('0-8')),
)
/** 29 February is left out: whether it is one depends on the year. */
const DATE = sequence(
  characters('1-9'),
  digits(3),
  text('-'),
  choice(
    sequence(
      oneOf('01', '03', '05', '07', '08', '10', '12'),
      text('-'),
      choice(UP_TO_28, oneOf('29', '30', '31')),
    ),
    sequence(oneOf('04', '06', '09', '11'), text('-'), choice(UP_TO_28, oneOf('29', '30'))),
    sequence(text('02-'), UP_TO_28),
  ),
)

const HOUR = choice(sequence(characters('01'), DIGIT), sequence(text('2'), characters('0-3')))
const SIXTY = sequence(characters('0-5'), DIGIT)
const TIME = sequence(
  HOUR,
  text(':'),
  SIXTY,
  text(':'),
  SIXTY,
  optional(sequence(text('.'), repeat(DIGIT, 1, 6))),
  choice(text('Z'), sequence(characters('+-'), HOUR, text(':'), SIXTY)),
)

const AMOUNT = repeat(DIGIT, 1, 4)
const DURATION = sequence(
  text('P'),
  choice(
    sequence(AMOUNT, characters('YMWD')),
    sequence(text('T'), AMOUNT, characters('HMS')),
    sequence(AMOUNT, text('DT'), AMOUNT, characters('HMS')),
    sequence(text('T'), AMOUNT, text('H'), AMOUNT, text('M'), optional(sequence(AMOUNT, text('S')))),
  ),
)

const LABEL = sequence(ALPHANUMERIC, optional(sequence(repeat(characters('a-z0-9-'), 0, 30), ALPHANUMERIC)))
const HOSTNAME = sequence(LABEL, repeat(sequence(text('.'), LABEL), 0, 6))
const DOMAIN = sequence(
  LABEL,
  repeat(sequence(text('.'), LABEL), 0, 4),
  text('.'),
  repeat(characters('a-z'), 2, 10),
)
const EMAIL = sequence(
  repeat(ALPHANUMERIC, 1, 20),
  repeat(sequence(characters('._+-'), repeat(ALPHANUMERIC, 1, 20)), 0, 2),
  text('@'),
  DOMAIN,
)

const SEGMENT = repeat(characters('a-zA-Z0-9._~-'), 0, 60)
const URI = sequence(
  text('http'),
  optional(text('s')),
  text('://'),
  DOMAIN,
  repeat(sequence(text('/'), SEGMENT), 0, 12),
  optional(sequence(text('?'), repeat(characters('a-zA-Z0-9._~=&-'), 0, 100))),
)

const OCTET = choice(
  sequence(text('25'), characters('0-5')),
  sequence(text('2'), characters('0-4'), DIGIT),
  sequence(text('1'), DIGIT, DIGIT),
  sequence(characters('1-9'), DIGIT),
  DIGIT,
)
const HEXTET = repeat(HEX, 1, 4)
const hex = (count: number): Expression => repeat(HEX, count, count)

/** The content of strings of each format; some are less than the format allows, none more. */
export const STRING_FORMATS: ReadonlyMap<string, Expression> = new Map([
  ['date', DATE],
  ['time', TIME],
  ['date-time', sequence(DATE, text('T'), TIME)],
  ['duration', DURATION],
  ['email', EMAIL],
  ['hostname', HOSTNAME],
  ['uri', URI],
  ['ipv4', sequence(OCTET, repeat(sequence(text('.'), OCTET), 3, 3))],
  ['ipv6', sequence(HEXTET, repeat(sequence(text(':'), HEXTET), 7, 7))],
  ['uuid', sequence(hex(8), text('-'), hex(4), text('-'), hex(4), text('-'), hex(4), text('-'), hex(12))],
])
