import { DatabaseSync, StatementSync } from 'node:sqlite';
import { vi } from 'vitest';
import { countedFaults, type Faults } from '../contract/reads-under-faults.ts';

/** https://sqlite.org/rescode.html#ioerr_read */
const IOERR_READ = 266;

/** Makes every SQLite statement in this process fail, as when the disk cannot be read. */
export function sqliteFaults(): Faults & { restore(): void } {
  const { faults, fails } = countedFaults();
  const mayFail = (): void => {
    if (fails()) throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: IOERR_READ });
  };
  const spies = [
    ...(['all', 'get', 'run', 'iterate'] as const).map((method) => failing(StatementSync.prototype, method, mayFail)),
    ...(['exec', 'prepare'] as const).map((method) => failing(DatabaseSync.prototype, method, mayFail)),
  ];
  return {
    ...faults,
    restore() {
      for (const spy of spies) spy.mockRestore();
    },
  };
}

function failing<T extends object>(prototype: T, method: keyof T & string, mayFail: () => void) {
  const original: unknown = Reflect.get(prototype, method);
  if (typeof original !== 'function') throw new Error(`There is no ${method}`);
  return vi.spyOn(prototype as Record<string, (...given: unknown[]) => unknown>, method).mockImplementation(function (
    this: unknown,
    ...given
  ) {
    mayFail();
    return Reflect.apply(original, this, given);
  });
}
