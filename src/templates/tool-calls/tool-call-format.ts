/** Name, something between, JSON arguments: `get_weather[ARGS]{"city": "Rome"}`. */
export interface NamedShape {
  body: 'named'
  /** Begins each call; absent = the marker that begins them all. */
  open?: string
  /** What stands before the arguments, with the groups `name` and maybe `id`. */
  header: RegExp
  /** Markers that end a call; one is taken. */
  closes: readonly string[]
}

/** Every argument between tags: `<function=get_weather><parameter=city>Rome</parameter></function>`. */
export interface TaggedShape {
  body: 'tagged'
  open: string
  nameEnd: string
  argumentOpen: string
  argumentNameEnd: string
  /** What may stand between an argument's name and its value. */
  argumentValueOpen?: readonly string[]
  argumentClose: string
  close: string
  /** Values stand on lines of their own. */
  spacedValues: boolean
}

/** Every argument an element of its own name, with elements inside of objects and lists, each tag behind the same mark. */
export interface ElementShape {
  body: 'elements'
  mark: string
  open: string
  nameEnd: string
  close: string
}

/** A call as in a programming language: `get_weather(city="Rome")`. */
export interface LiteralShape {
  body: 'literal'
  header: RegExp
  open: string
  close: string
  /** Stands between an argument's name and its value. */
  assign: RegExp
  quotes: readonly string[]
}

/** JSON objects with name and arguments, or a list of them. */
export interface JsonShape {
  body: 'json'
}

/** JSON objects whose only key is the name, or a list of them. */
export interface KeyedJsonShape {
  body: 'keyed-json'
}

/** How a family of models writes calls of tools. */
export interface ToolCallFormat {
  family: string
  /** Tells the family by what its template writes. */
  sign: RegExp
  /** Any of these begins calls in an answer. */
  begins: readonly string[]
  /** Any of these ends them; none = they end with the last call. */
  ends: readonly string[]
  shape: JsonShape | KeyedJsonShape | NamedShape | TaggedShape | ElementShape | LiteralShape
  /** A JSON object at the very beginning of an answer is a call too, when it names a tool. */
  bare?: boolean
  /** Only names of the tools offered are calls: the marker stands for other things as well. */
  knownOnly?: boolean
  /** Markers that mean nothing to a reader of the answer. */
  silent?: readonly string[]
  /** Further texts of control tokens inside of calls. */
  inner?: readonly string[]
}
