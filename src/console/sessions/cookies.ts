import { fastifyCookie } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { defined } from '../../domain/defined.ts';
import type { Flash } from '../../html/layout.ts';
import { purposes } from '../../secrets/purposes.ts';
import { seal, unseal } from '../../secrets/seal.ts';
import type { SecretKey } from '../../secrets/secret-key.ts';

/**
 * The console's cookies: HttpOnly, and SameSite=Lax, so that browsers do not send them with forms on other sites. Requires the plugin
 * `@fastify/cookie`.
 */
export type Cookies = ReturnType<typeof createCookies>;

export function createCookies({ publicUrl, secretKey }: { readonly publicUrl: string; readonly secretKey: SecretKey }) {
  const secure = publicUrl.startsWith('https:');
  // With this prefix, browsers accept the cookie only from this very host, over https.
  const nameOf = (name: string) => (secure ? `__Host-${name}` : name);

  const set = (reply: FastifyReply, name: string, value: string, maxAge?: number) =>
    reply.setCookie(nameOf(name), value, {
      path: '/',
      httpOnly: true,
      sameSite: 'lax',
      secure,
      ...defined({ maxAge }),
    });

  const get = (request: FastifyRequest, name: string): string | undefined => request.cookies[nameOf(name)];

  /** The names of the cookies that begin with `prefix`, in the order in which the browser sends them: the oldest first. */
  const names = (request: FastifyRequest, prefix: string): readonly string[] =>
    Object.keys(request.cookies)
      .filter((name) => name.startsWith(nameOf(prefix)))
      .map((name) => name.slice(nameOf('').length));

  const setSealed = (reply: FastifyReply, name: string, value: unknown, maxAge: number) =>
    set(reply, name, seal(secretKey, purposes.consoleCookie(name), JSON.stringify(value)), maxAge);

  /** Undefined if the cookie is absent or was not set by this service. */
  function getSealed<T>(request: FastifyRequest, name: string): T | undefined {
    const sealed = get(request, name);
    if (sealed === undefined || sealed === '') return undefined;
    try {
      const value: T = JSON.parse(unseal(secretKey, purposes.consoleCookie(name), sealed));
      return value;
    } catch {
      return undefined;
    }
  }

  const clear = (reply: FastifyReply, name: string) => set(reply, name, '', 0);

  return {
    set,
    get,
    names,
    /** The value of a cookie in a `Cookie` header. */
    inHeader: (header: string, name: string): string | undefined => fastifyCookie.parse(header)[nameOf(name)],
    clear,
    /** Sets an encrypted cookie that only this service can create or read. `maxAge` in seconds. */
    setSealed,
    getSealed,

    /** Keeps a message for the next page of its owner (`Sessions.ownerOf`), at most for these seconds. */
    setFlash: (reply: FastifyReply, flash: Flash, owner: string, seconds = 60) =>
      setSealed(reply, FLASH, { flash, owner } satisfies OwnedFlash, seconds),

    /** The message of the previous page. It is shown once, and only if one of these is its owner. */
    takeFlash(request: FastifyRequest, reply: FastifyReply, owners: readonly string[]): readonly Flash[] {
      const left = getSealed<OwnedFlash>(request, FLASH);
      if (left === undefined) return [];
      clear(reply, FLASH);
      return owners.includes(left.owner) ? [left.flash] : [];
    },
  };
}

const FLASH = 'console_flash';

type OwnedFlash = { readonly flash: Flash; readonly owner: string };
