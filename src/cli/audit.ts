import { type Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { toOperatorAccountChange } from '../contract/account-change.ts';
import { accountInWords } from '../domain/account.ts';
import { AUDITED_TYPES, type NamedChange, TOPICS, type Topic } from '../domain/account-change.ts';
import { isRefusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import type { EventType } from '../domain/events.ts';
import { csvHeader, csvLine } from '../text/csv.ts';
import { namedAccount, nameOf, requiredAccount } from './accounts.ts';
import { moment, wholeNumber } from './arguments.ts';
import { changesText, wantsCsv } from './history.ts';
import { CommandFailed, isJson, operate, tell, writerOf } from './operation.ts';
import { textOf } from './print.ts';
import { checkRange, subcommand } from './subcommand.ts';

export function auditCommand(venue: Command): void {
  subcommand(
    venue,
    'audit',
    'list the changes of a community or brand, with their actors',
    [
      'audit --community 1',
      'audit --brand 1 --from 2026-11-01 --to 2026-12-01 --csv > november.csv',
      'audit --community 1 --actor ada@example.com --kind spaces,BookingApproved',
      'audit --community 1 --kind members,apps,keys --json',
      'audit --request 5f0c8c3e-2f6b-4d53-9d6b-0a8f6f1b7a11',
    ],
    `Give --community, --brand or --request. Changes are listed in the order of the log while it is read, which takes a while for a long log.
A time needs a time zone; a date means midnight UTC.
Kinds of actors: user, apiKey, client, operator, system.
Topics: ${TOPICS.join(', ')}.
Kinds of events: ${AUDITED_TYPES.join(', ')}.`,
  )
    .option('--community <id>', 'the community', wholeNumber)
    .option('--brand <id>', 'the brand', wholeNumber)
    .option('--from <time>', 'only changes at or after this time', moment)
    .option('--to <time>', 'only changes before this time', moment)
    .option('--request <id>', 'only the changes of one request: the X-Request-Id of its answer')
    .option('--actor <who>', 'only changes by this user, key or app (id or name), or by this kind of actor')
    .option('--kind <kinds>', 'only these topics or kinds of events, separated by commas', kinds)
    .option('--csv', 'print CSV')
    .action(({ from, to, actor, kind, request, csv, ...named }, command) => {
      const account = request === undefined ? requiredAccount(named) : namedAccount(named);
      checkRange(from, to, { isToExcluded: true });
      const format: Format = wantsCsv(command, { csv }) ? asCsv : isJson(command) ? asJson : asText;
      return operate(command, async (core) => {
        const owner = account && (await nameOf(core, account));
        if (owner !== undefined && isRefusal(owner)) return owner;
        let unknown = 0;
        const entries = core.queries.accountHistory.audit(
          account,
          defined({ from: from && Date.parse(from), to: to && Date.parse(to), actor, request, ...kind }),
          {
            progress: ({ read, at }) =>
              tell(command, `${read.toLocaleString('en')} events read, up to ${at.slice(0, 10)}`),
            unknown: () => {
              unknown += 1;
            },
          },
        );
        const write = writerOf(command);
        for await (const text of format(entries)) await write(text);
        if (unknown > 0)
          throw new CommandFailed({
            error: 'NewerRelease',
            details: `${unknown} events were written by a newer release of the service. Run its venue audit to see whether they are among those you asked for.`,
          });
        return 'printed';
      });
    });
}

type Kinds = { readonly topics: readonly Topic[]; readonly types: readonly EventType[] };

function kinds(text: string): Kinds {
  const names = text.split(',').map((name) => name.trim());
  const topics = TOPICS.filter((topic) => names.includes(topic));
  const types = AUDITED_TYPES.filter((type) => names.includes(type));
  if (topics.length + types.length !== new Set(names).size)
    throw new InvalidArgumentError(
      'It must be topics or kinds of events with commas between them, as --help lists them.',
    );
  return { topics, types };
}

/** The text of the changes, piece by piece, so that memory does not grow with their number. */
type Format = (changes: AsyncIterable<NamedChange>) => AsyncGenerator<string>;

async function* asJson(changes: AsyncIterable<NamedChange>): AsyncGenerator<string> {
  let before = '[\n';
  for await (const change of changes) {
    yield before + JSON.stringify(toOperatorAccountChange(change));
    before = ',\n';
  }
  yield before === '[\n' ? '[]\n' : '\n]\n';
}

async function* asCsv(changes: AsyncIterable<NamedChange>): AsyncGenerator<string> {
  yield csvHeader([
    ...['id', 'at', 'event', 'topic', 'ofKind', 'ofId', 'ofName', 'actorKind', 'actorId', 'actorName', 'account'],
    ...['changes', 'stream', 'revision'],
  ]);
  for await (const change of changes) {
    const { id, at, event, topic, of, actor, changes: made, stream, revision } = toOperatorAccountChange(change);
    const account = actor.account && accountInWords(actor.account);
    yield csvLine([
      ...[id, at, event, topic, of.kind, of.id, of.name, actor.kind, actor.id, actor.name, account],
      ...[changesText(made), stream, revision],
    ]);
  }
}

async function* asText(changes: AsyncIterable<NamedChange>): AsyncGenerator<string> {
  let rows: object[] = [];
  let isEmpty = true;
  for await (const change of changes) {
    rows.push(toOperatorAccountChange(change));
    if (rows.length < TABLE_ROWS) continue;
    yield `${textOf(rows, COLUMNS)}\n`;
    isEmpty = false;
    rows = [];
  }
  if (isEmpty || rows.length > 0) yield `${textOf(rows, COLUMNS)}\n`;
}

const COLUMNS = ['at', 'event', 'of.kind', 'of.id', 'of.name', 'actor', 'changes'];
/** A longer result is printed as several tables. */
const TABLE_ROWS = 500;
