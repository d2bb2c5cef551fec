import { isUnavailable, publicMessageOf, Unavailable, type UnavailableError } from '../runtime/unavailable.ts';

/** The OAuth error for an unavailable store (RFC 6749 4.1.2.1). Its fields are the ones that oidc-provider reads of its own errors. */
class TemporarilyUnavailable extends Unavailable {
  readonly error = 'temporarily_unavailable';
  readonly error_description: string;
  readonly status = 503;
  readonly statusCode = 503;
  readonly expose = true;
  readonly allow_redirect = true;

  constructor(cause: UnavailableError) {
    super('temporarily_unavailable', cause, cause.publicMessage);
    this.error_description = publicMessageOf(cause);
  }
}

/** Wraps an object so that its methods throw errors that oidc-provider passes on to clients when a store is unavailable. */
export function withOAuthErrors<T extends object>(target: T): T {
  return new Proxy(target, {
    get(of, name, receiver) {
      const member: unknown = Reflect.get(of, name, receiver);
      if (typeof member !== 'function') return member;
      return (...given: readonly unknown[]) => {
        const result: unknown = Reflect.apply(member, of, given);
        return result instanceof Promise ? result.catch(rethrow) : result;
      };
    },
  });
}

function rethrow(error: unknown): never {
  throw isUnavailable(error) ? new TemporarilyUnavailable(error) : error;
}
