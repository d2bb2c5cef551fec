import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { spaces } from '../../projections/spaces.ts';
import { isPlainDate, wallDay } from '../domain/calendar.ts';
import { cutText } from '../domain/cut-text.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { closedTime, type Interval, overlaps } from '../domain/held-times.ts';
import { type ClosureId, type CommunityId, closureId, type PlainDate } from '../domain/ids.ts';
import { MAX_SPACE_DAYS } from '../domain/limits.ts';
import type { Space } from '../domain/space.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { nextSlice, yieldEvery } from '../event-loop/slices.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import { FORMULA } from '../text/csv.ts';
import { spacesOf } from './catalogue.ts';
import type { Progress } from './closure-days.ts';
import type { ClosureCommand, ClosureCommands } from './closures.ts';
import type { CommandContext } from './command-handler.ts';

const COLUMNS = ['date', 'start', 'end', 'space', 'title'] as const;
const REQUIRED: readonly string[] = COLUMNS.filter((name) => name !== 'title');
/** Own events that are checked or added at once. */
const EVENTS_AT_ONCE = 16;
/** Characters that are parsed at once: about half a millisecond. */
const SLICE = 4_096;

type Line = { readonly line: number; readonly cells: { readonly [column: string]: string } };
type Skipped = { readonly line: number; readonly reason: string };
/** A line that becomes an own event. */
type Planned = Pick<
  ClosureCommand,
  'communityId' | 'spaceIds' | 'kind' | 'from' | 'to' | 'start' | 'until' | 'title'
> & {
  readonly line: number;
  readonly spaceId: number;
  readonly importKey: string;
  readonly time: Interval;
};

/**
 * Makes own events from a CSV file with a line for each. Lines that cannot be taken are skipped. The same file again adds nothing, except
 * lines whose hours were not free the time before. Refuses a file that cannot be read as a whole (`ValidationError`).
 */
export function createClosureImport({
  closures,
  readModels,
}: {
  readonly closures: Pick<ClosureCommands, 'check' | 'add'>;
  readonly readModels: ReadModels;
}) {
  /** Adds the own event of a line. What was left out before is tried again under another id, because its day refuses the former one. */
  async function take(
    { line: _, spaceId: __, time: ___, ...wanted }: Planned,
    isDryRun: boolean,
    context: CommandContext,
  ): Promise<'there' | 'added' | Refusal> {
    for (let attempt = 0; ; attempt += 1) {
      const command = { ...wanted, closureId: idOf(wanted.communityId, wanted.importKey, attempt) };
      const obstacle = await closures.check(command);
      if (obstacle === 'leftOut') continue;
      const outcome = obstacle === undefined && !isDryRun ? await closures.add(command, context) : obstacle;
      return outcome === 'there' || isRefusal(outcome) ? outcome : 'added';
    }
  }

  return async (
    file: Uint8Array,
    options: { readonly communityId: CommunityId; readonly isDryRun?: boolean; readonly progress?: Progress },
    context: CommandContext,
  ) => {
    const { communityId, isDryRun = false, progress } = options;
    const lines = await linesOf(file);
    if (isRefusal(lines)) return lines;
    const owned = await readModels.collection(spaces).list(spacesOf(communityId));
    const { planned, skipped } = await planOf(lines, owned, communityId);
    // Before: also if it has ended since.
    const done = { added: 0, addedBefore: 0 };
    const turn = yieldEvery(2);
    let handled = 0;
    for await (const page of inPages(planned, EVENTS_AT_ONCE)) {
      // Days that are in memory are checked without a pause.
      await turn();
      await Promise.all(
        page.map(async (each) => {
          const outcome = await take(each, isDryRun, context);
          if (isRefusal(outcome)) skipped.push({ line: each.line, reason: outcome.details });
          else done[outcome === 'there' ? 'addedBefore' : 'added'] += 1;
        }),
      );
      handled += page.length;
      progress?.({ done: handled, total: planned.length });
    }
    return { lines: lines.length, ...done, skipped: skipped.sort((a, b) => a.line - b.line) };
  };
}

/** The lines of a file below its header, or why it cannot be read as a whole. */
async function linesOf(file: Uint8Array): Promise<readonly Line[] | Refusal> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(file);
  } catch {
    return unusable('is not in UTF-8. Save it as “CSV UTF-8”');
  }
  // Loaded here: most processes never need it.
  const { CsvError, parse } = await import('csv-parse');
  const rows: { readonly record: readonly string[]; readonly line: number }[] = [];
  let found = 0;
  const [first = ''] = text.split('\n', 1);
  // Spreadsheets name the separator in a line of its own.
  const [, named] = /^"?sep=(.)"?\r?$/i.exec(first) ?? [];
  const parser = parse({
    delimiter: named ?? (first.includes(';') ? ';' : first.includes('\t') ? '\t' : ','),
    from_line: named === undefined ? 1 : 2,
    trim: true,
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
    on_record(record, { lines }) {
      found += 1;
      // Further ones are only counted.
      if (rows.length <= MAX_SPACE_DAYS) rows.push({ record, line: lines });
      return null;
    },
  });
  try {
    await pipeline(slicesOf(text), parser, (parsed) => Array.fromAsync(parsed));
  } catch (error) {
    if (error instanceof CsvError) return unusable(`is no CSV: ${error.message}`);
    throw error;
  }
  const [header, ...rest] = rows;
  const names = header?.record.map((name) => name.toLowerCase()) ?? [];
  const missing = REQUIRED.filter((name) => !names.includes(name));
  const unknown = names.find((name) => !COLUMNS.some((column) => column === name));
  if (missing.length > 0) return unusable(`has no column ${missing.join(', ')}: its first line must name them`);
  if (unknown !== undefined || new Set(names).size < names.length)
    return unusable(
      `must have the columns ${COLUMNS.join(', ')}, each once. Remove ${quoted(unknown ?? names.join(', '))}`,
    );
  if (found - 1 > MAX_SPACE_DAYS)
    return unusable(`has ${count(found - 1)} lines: at most ${count(MAX_SPACE_DAYS)} are taken at once`);
  return rest.map(({ record, line }) => ({
    line,
    cells: Object.fromEntries(record.map((cell, index) => [names[index] ?? 'beyond', cell])),
  }));
}

async function* slicesOf(text: string): AsyncGenerator<string> {
  for (let from = 0; from < text.length; from += SLICE) {
    yield text.slice(from, from + SLICE);
    await nextSlice();
  }
}

/** The own events of the lines, and the lines that name none. Whether the hours are free shows later. */
async function planOf(lines: readonly Line[], spaces: readonly Space[], community: number) {
  const turn = yieldEvery(2);
  const planned: Planned[] = [];
  const skipped: Skipped[] = [];
  const byDay = new Map<string, Planned[]>();
  for (const line of lines) {
    await turn();
    const wanted = ownEventOf(line, spaces, community);
    if (typeof wanted === 'string') {
      skipped.push({ line: line.line, reason: wanted });
      continue;
    }
    const onDay = byDay.getOrInsertComputed(`${wanted.spaceId} ${wanted.from}`, () => []);
    const before = onDay.find((other) => overlaps(other.time, wanted.time));
    if (before !== undefined) {
      skipped.push({ line: line.line, reason: `The hours overlap those of line ${before.line}.` });
      continue;
    }
    onDay.push(wanted);
    planned.push(wanted);
  }
  return { planned, skipped };
}

/** Characters of a cell that a reason repeats. */
const MOST_QUOTED = 100;

const quoted = (cell: string): string => `“${cutText(cell, MOST_QUOTED)}”`;

/** The own event of a line, or why there is none. */
function ownEventOf({ line, cells }: Line, spaces: readonly Space[], community: number): Planned | string {
  const { start = '', end = '', space = '', title = '' } = cells;
  const date = dateIn(cells.date ?? '');
  if (cells.beyond !== undefined)
    return 'It has more cells than the first line. Put quotes around text with separators.';
  const formula = Object.entries(cells).find(([, cell]) => FORMULA.test(cell));
  if (formula !== undefined)
    return `${formula[0]} begins like a formula, which spreadsheets would run: ${quoted(formula[1])}.`;
  if (date === undefined) return `date must be written like 2026-12-24 or 24.12.2026, got ${quoted(cells.date ?? '')}.`;
  const [from, until] = [hourOf(start), hourOf(end)];
  if (from === undefined) return noHour('start', start);
  if (until === undefined) return noHour('end', end);
  const [only, ...more] = spacesCalled(space, spaces);
  if (only === undefined) return `The community has no space ${quoted(space)}.`;
  if (more.length > 0) return `Several spaces are called ${quoted(space)}: write the id.`;
  const importKey = `${only.spaceId} ${date} ${from}-${until}`;
  return {
    line,
    spaceId: only.spaceId,
    spaceIds: [only.spaceId],
    communityId: community,
    kind: 'OwnEvent',
    importKey,
    from: date,
    to: date,
    start: from,
    until,
    title,
    time: closedTime(wallDay(date, only.timeZone), { start: from, until }),
  };
}

/** The space with an id; else those with a name, in its case or, if there is none, in any. */
function spacesCalled(text: string, spaces: readonly Space[]): readonly Space[] {
  const wanted = text.toLowerCase();
  const candidates = [
    spaces.filter(({ spaceId }) => String(spaceId) === text),
    spaces.filter(({ name }) => name === text),
    spaces.filter(({ name }) => name.toLowerCase() === wanted),
  ];
  return candidates.find(({ length }) => length > 0) ?? [];
}

/** `2026-12-24`, `2026/12/24`, `24.12.2026`, and `24/12/2026` or `12/24/2026` if only one of its numbers can be the month. */
function dateIn(text: string): PlainDate | undefined {
  const [, year = '', month = '', day = ''] = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})$/.exec(text) ?? [];
  if (year !== '') return plainDate(year, month, day);
  const [, first = '', separator, second = '', last = ''] = /^(\d{1,2})([./])(\d{1,2})\2(\d{4})$/.exec(text) ?? [];
  const dayFirst = plainDate(last, second, first);
  const monthFirst = separator === '/' ? plainDate(last, first, second) : undefined;
  return dayFirst === undefined || monthFirst === undefined || dayFirst === monthFirst
    ? (dayFirst ?? monthFirst)
    : undefined;
}

function plainDate(year: string, month: string, day: string): PlainDate | undefined {
  const date = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return isPlainDate(date) ? date : undefined;
}

/** The same whenever the line is imported, so that two imports at once add it once. */
function idOf(community: number, importKey: string, attempt: number): ClosureId {
  const key = [community, importKey, ...(attempt === 0 ? [] : [attempt])].join(' ');
  return closureId(`import-${createHash('sha256').update(key).digest('base64url').slice(0, 27)}`);
}

/** `9`, `09:00`, `09:00:00`, `24:00`. */
function hourOf(text: string): number | undefined {
  const [, hour] = /^(\d{1,2})(?::00){0,2}$/.exec(text) ?? [];
  return hour === undefined ? undefined : Number(hour);
}

/** Why a cell is no hour, and what to write instead. */
function noHour(column: 'start' | 'end', text: string): string {
  const [, before] = /^([01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?$/.exec(text) ?? [];
  const got = `got ${quoted(text)}`;
  if (before === undefined) {
    const hour = column === 'start' ? 18 : 20;
    return `${column} must be a whole hour such as ${hour} or ${hour}:00, ${got}.`;
  }
  const hour = Number(before);
  const hours = column === 'start' && hour === 23 ? '23' : `${hour} or ${hour + 1}`;
  return `Own events start and end on the hour: write ${hours} as ${column}, ${got}.`;
}

const unusable = (why: string): Refusal => refuse('ValidationError', `The file ${why}.`);
const count = (number: number): string => number.toLocaleString('en');
