/** An address that means "every one of this machine" is none to call: it becomes the loopback one. */
export function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
}
