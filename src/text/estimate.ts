/** The period that an estimate is based on. */
const WINDOW_MS = 30_000;

export type Estimate = ReturnType<typeof createEstimate>;

/** Estimates the time left from the recent speed. */
export function createEstimate(now: () => number = () => performance.now()) {
  let notes: { readonly at: number; readonly done: number }[] = [];

  return {
    /** Records the progress. */
    note(done: number): void {
      const at = now();
      if (notes.at(-1)?.done === done) return;
      notes = [...notes.filter((note) => at - note.at <= WINDOW_MS && note.done < done), { at, done }];
    },

    /** @returns whole seconds, at least 1; undefined while there is too little data */
    secondsLeft(total: number | undefined): number | undefined {
      const [first] = notes;
      const last = notes.at(-1);
      if (first === undefined || last === undefined || total === undefined) return undefined;
      const elapsed = now() - first.at;
      if (last.done === first.done || total <= last.done) return undefined;
      const perMs = (last.done - first.done) / elapsed;
      return Math.max(1, Math.ceil((total - last.done) / perMs / 1_000));
    },
  };
}

/** Formats an estimate to append to a progress message: `, about 12 s left`. Empty without an estimate. */
export function timeLeft(seconds: number | undefined): string {
  if (seconds === undefined) return '';
  return `, about ${seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`} left`;
}
