/** Whether a host name or address is this machine's own: `localhost`, 127.0.0.0/8 or `::1`, as in a URL or of a socket. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host) || host === '::1' || host === '[::1]';
