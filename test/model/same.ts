import { isDeepStrictEqual } from 'node:util';

/** @throws {Error} if the service and the model differ */
export function same(what: string, actual: unknown, promised: unknown): void {
  if (isDeepStrictEqual(actual, promised)) return;
  throw new Error(
    `${what}: not as the model says.\nThe service: ${JSON.stringify(actual)}\nThe model:   ${JSON.stringify(promised)}`,
  );
}
