/** The outcome of `work`, which goes on regardless. @throws {Error} after `ms` without one */
export async function within<R>(ms: number, work: Promise<R>): Promise<R> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`No answer within ${ms} ms`)), ms);
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
