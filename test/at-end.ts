import { afterAll } from 'vitest';

/**
 * Collects what has to be undone after all tests of a file or `describe`, the last first. To be called there, not in a hook: Vitest ignores an
 * `afterAll` that is called within a `beforeAll`.
 */
export function atEnd(): (undo: () => unknown) => void {
  const waiting: (() => unknown)[] = [];
  afterAll(async () => {
    for (const undo of waiting.splice(0).reverse()) await undo();
  });
  return (undo) => void waiting.push(undo);
}
