/**
 * Waits for work that must not be cut short by the process running out of other things to do: timers of the clock do not keep a
 * process alive, an open message port does.
 */
export async function keptAlive<Value>(work: Promise<Value>): Promise<Value> {
  const { port1 } = new MessageChannel()
  port1.ref()
  try {
    return await work
  } finally {
    port1.close()
  }
}
