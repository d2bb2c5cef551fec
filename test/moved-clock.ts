/** Set-up of the projects `clock-…`: starts each file at a moment of the calendar. Other processes keep the clock of the machine. */
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    startsAt: string;
  }
}
declare global {
  /** The clock of the machine, where a file before this one has moved it. */
  var MachineDate: DateConstructor | undefined;
}

globalThis.MachineDate ??= Date;
const machine = globalThis.MachineDate;
const ahead = machine.parse(inject('startsAt')) - machine.now();
const now = (): number => machine.now() + ahead;

globalThis.Date = new Proxy(machine, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
});
