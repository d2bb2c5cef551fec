/** The server cannot listen on the address. The message names the setting and the remedy. */
export class UnusableAddress extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'UnusableAddress';
  }
}

type Address = { readonly host: string; readonly port: number };
/** The settings that hold them. */
type AddressSettings = { readonly host: string; readonly port: string };

/**
 * Translates errors of `listen`.
 * @throws {UnusableAddress} if the setting is the cause
 */
export async function onAddress<T>(
  { host, port }: Address,
  listen: () => Promise<T>,
  settings: AddressSettings = { host: 'HOST', port: 'PORT' },
): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const problem = PROBLEMS[String(code)];
    throw problem === undefined ? error : new UnusableAddress(problem({ host, port }, settings), error);
  }
}

type Describe = (address: Address, settings: AddressSettings) => string;

const noAddress: Describe = ({ host }, settings) => `${settings.host}: ${host} is no address of this machine`;

const PROBLEMS: Readonly<Record<string, Describe>> = {
  EADDRINUSE: ({ host, port }, settings) =>
    `${settings.port}: ${port} of ${host} is in use by another process. Stop that one, or choose another port`,
  EACCES: ({ host, port }, settings) => `${settings.port}: this user may not listen on ${port} of ${host}`,
  EADDRNOTAVAIL: noAddress,
  EAI_AGAIN: noAddress,
  ENOTFOUND: noAddress,
};
