/** Lets a single waiter sleep until it is woken. A wake before the wait is not lost. */
export class Wakeup {
  #woken = false;
  #resolve: (() => void) | undefined;

  readonly wake = (): void => {
    this.#woken = true;
    this.#resolve?.();
  };

  /** Resolves to true when woken, to false after `limitMs` without a wake. */
  async wait(limitMs?: number): Promise<boolean> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const timer = limitMs === undefined ? undefined : setTimeout(resolve, limitMs);
        this.#resolve = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const woken = this.#woken;
    this.#resolve = undefined;
    this.#woken = false;
    return woken;
  }
}
