/**
 * Limits the wait for `work`, which runs on regardless.
 * @throws what `late` returns, after `ms` without an outcome
 */
export async function within<R>(
  ms: number,
  work: Promise<R>,
  late: () => Error = () => new Error(`No answer within ${ms} ms`),
): Promise<R> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
