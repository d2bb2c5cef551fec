/** The server cannot listen on the address. The message names the setting and the remedy. */
export class UnusableAddress extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'UnusableAddress';
  }
}

type Address = { readonly host: string; readonly port: number };

/**
 * Translates errors of `listen`.
 * @throws {UnusableAddress} if the setting is the cause
 */
export async function onAddress<T>({ host, port }: Address, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const problem = PROBLEMS[String(code)];
    throw problem === undefined ? error : new UnusableAddress(problem(host, port), error);
  }
}

const noAddress = (host: string): string => `HOST: ${host} is no address of this machine`;

const PROBLEMS: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `PORT: ${port} of ${host} is in use by another process. Stop that one, or choose another port`,
  EACCES: (host, port) => `PORT: this user may not listen on ${port} of ${host}`,
  EADDRNOTAVAIL: noAddress,
  EAI_AGAIN: noAddress,
  ENOTFOUND: noAddress,
};
