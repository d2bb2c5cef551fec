import { isUnavailable, publicMessageOf, Unavailable, type UnavailableError } from '../runtime/unavailable.ts';

/** A store does not answer, as OAuth says it (RFC 6749 4.1.2.1). The fields are those that oidc-provider reads of its own errors. */
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

/** The same, whose methods throw what oidc-provider passes on to clients where a store does not answer. */
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
