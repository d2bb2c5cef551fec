/** How much of the past an estimate looks at. */
const WINDOW_MS = 30_000;

export type Estimate = {
  /** Notes how much is done. */
  note(done: number): void;
  /** @returns whole seconds, at least 1; undefined while there is too little to go by */
  secondsLeft(total: number | undefined): number | undefined;
};

/** Estimates when a piece of work will be complete, by how fast it has got on lately. */
export function createEstimate(now: () => number = () => performance.now()): Estimate {
  let notes: { readonly at: number; readonly done: number }[] = [];

  return {
    note(done) {
      const at = now();
      if (notes.at(-1)?.done === done) return;
      notes = [...notes.filter((note) => at - note.at <= WINDOW_MS && note.done < done), { at, done }];
    },

    secondsLeft(total) {
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

/** An estimate for people, to follow what is done: `, about 12 s left`. Empty if there is none. */
export function timeLeft(seconds: number | undefined): string {
  if (seconds === undefined) return '';
  return `, about ${seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`} left`;
}
