// A worker of another version: what it says is no list of messages.
process.on('message', () => process.send?.({ type: 'loaded' }))
process.stdin.on('end', () => process.exit(0)).resume()
