/**
 * Two releases of the service, each in its own folder: an earlier one from the history, and one after the current source.
 * They share the installed packages.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { envFor, ROOT, succeeds, type Tool } from '../tool.ts';

/**
 * The release before: raise it when a release has gone out. It must have the store format of this one, and start with the packages
 * that are installed here.
 */
const EARLIER = 'c04ca1af';

/** Files left out of a release because they are not part of the running service. */
const PARTS = ['src', 'projections', 'package.json'];

/** An unpacked archive and a shallow clone have no history. */
export const HISTORY: Tool = {
  name: 'the release before, from the history of git',
  look: () =>
    succeeds(['git', 'cat-file', '-e', `${EARLIER}^{commit}`])
      ? { found: EARLIER }
      : { missing: `no git, or not its commit ${EARLIER}`, install: 'run the tests in a whole clone' },
};

/** Only for tests that are skipped without {@link HISTORY}. */
export function earlierRelease(folder: string): string {
  const env = envFor(HISTORY);
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', '--format=tar', EARLIER, ...PARTS], {
    cwd: ROOT,
    env,
    maxBuffer: 2 ** 28,
  });
  execFileSync('tar', ['-x', '-C', folder], { env, input: archive });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** A type of event that only the next release knows. Webhooks can subscribe to it. */
export const NEXT_KIND = 'SpaceSurveyed';
/** Its bit in the mask of a registration. */
export const NEXT_KIND_VALUE = 32;

/** The changes of the next release: a field of an event, a type of event and webhook, and the version of a projection. */
const CHANGES: readonly { readonly file: string; readonly from: string; readonly to: string }[] = [
  {
    file: 'src/domain/request-booking.ts',
    from: 'bookingId: command.bookingId,\n',
    to: "bookingId: command.bookingId,\n    channel: 'next release',\n",
  },
  {
    file: 'src/domain/event-types.ts',
    from: 'BookingRequested: true,',
    to: `BookingRequested: true,\n  ${NEXT_KIND}: true,`,
  },
  {
    file: 'src/domain/webhook.ts',
    from: 'BookingMoved: 16,',
    to: `BookingMoved: 16,\n  ${NEXT_KIND}: ${NEXT_KIND_VALUE},`,
  },
  {
    file: 'src/contract/webhook-payload.ts',
    from: '  const { at: timestamp } = event.metadata;\n',
    to: `  const { at: timestamp } = event.metadata;\n  if ((event.type as string) === '${NEXT_KIND}') return { event: event.type, timestamp, data: event.data } as never;\n`,
  },
  { file: 'projections/bookings.ts', from: 'version: 9,', to: 'version: 10,' },
  {
    file: 'projections/bookings.ts',
    from: "status: 'Pending', createdAt: at, changedAt: at } as const;",
    to: "status: 'Pending', createdAt: at, changedAt: at, madeBy: 'next release' } as const;",
  },
];

export function nextRelease(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const part of PARTS) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, from, to } of CHANGES) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    if (!text.includes(from)) throw new Error(`${file} no longer contains what the next release changes: ${from}`);
    writeFileSync(path, text.replace(from, to));
  }
  return folder;
}
