import { fastifyCookie } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { defined } from '../../domain/defined.ts';
import { purposes } from '../../secrets/purposes.ts';
import { seal, unseal } from '../../secrets/seal.ts';
import type { SecretKey } from '../../secrets/secret-key.ts';

/**
 * The console's cookies: HttpOnly, and SameSite=Lax, so forms on other sites do not send them. Requires the plugin
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

  return {
    set,
    get,
    /** The value of a cookie in a `Cookie` header. */
    inHeader: (header: string, name: string): string | undefined => fastifyCookie.parse(header)[nameOf(name)],
    clear: (reply: FastifyReply, name: string) => set(reply, name, '', 0),

    /** Sets an encrypted cookie that only this service can create or read. `maxAge` in seconds. */
    setSealed: (reply: FastifyReply, name: string, value: unknown, maxAge: number) =>
      set(reply, name, seal(secretKey, purposes.consoleCookie(name), JSON.stringify(value)), maxAge),

    /** The value of a sealed cookie; undefined if it is absent or was not set by this service. */
    getSealed(request: FastifyRequest, name: string): unknown {
      const sealed = get(request, name);
      if (sealed === undefined || sealed === '') return undefined;
      try {
        return JSON.parse(unseal(secretKey, purposes.consoleCookie(name), sealed));
      } catch {
        return undefined;
      }
    },
  };
}
