/** Lets one waiter sleep until it is woken. A wake that comes before the wait is not lost. */
export class Wakeup {
  #woken = false;
  #resolve: (() => void) | undefined;

  readonly wake = (): void => {
    this.#woken = true;
    this.#resolve?.();
  };

  /** Resolves true when woken; false after `limit` milliseconds without it. */
  async wait(limit?: number): Promise<boolean> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const timer = limit === undefined ? undefined : setTimeout(resolve, limit);
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
