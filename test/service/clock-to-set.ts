/**
 * Loaded before a service process (`--import`), shifts its clock ahead by the milliseconds in the file. Unlike with CLOCK_SHIFT, the
 * service does not know.
 */
import { readFileSync } from 'node:fs';

const file = process.env.CLOCK_AHEAD ?? '';
const RealDate = Date;
const now = (): number => RealDate.now() + Number(readFileSync(file, 'utf8'));

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
});
