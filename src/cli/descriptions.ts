import { type Command, InvalidArgumentError } from '@commander-js/extra-typings';
import type { Changes } from '../domain/changed-values.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { AMENITIES, type HouseDescription, SPACE_KINDS, type SpaceDescription } from '../domain/description.ts';
import { spaceId } from '../domain/ids.ts';
import { wholeNumber } from './arguments.ts';
import { operated } from './operation.ts';
import { subcommand, wrongUsage } from './subcommand.ts';

const SPACE_NOTES = `Without options it shows the description. What no option names stays; none (for a number, a kind or a list) or an empty text takes a
value away. Kinds: ${SPACE_KINDS.join(', ')}. Amenities: ${AMENITIES.join(', ')}. The text about the space is Markdown.`;

const SPACE_EXAMPLES = [
  'space describe 1',
  'space describe 1 --kind Hall --seated 60 --standing 120 --area 140 --amenities Wifi,Projector,Lift',
  'space describe 1 --about "$(cat about.md)" --own-amenities "Grand piano;Roof window" --seated none',
];

/** Shows or changes what a community says of a space. */
export function describeSpaceCommand(space: Command): void {
  subcommand(space, 'describe', 'show or change what brands read about a space', SPACE_EXAMPLES, SPACE_NOTES)
    .argument('<id>', 'id of the space', wholeNumber)
    .option('--kind <kind>', 'what it is', choice(SPACE_KINDS))
    .option('--seated <guests>', 'guests who can sit', numberOrNone)
    .option('--standing <guests>', 'guests who can stand', numberOrNone)
    .option('--area <m2>', 'area in m²', numberOrNone)
    .option('--amenities <list>', 'what it has, with commas between them', choices(AMENITIES))
    .option('--own-amenities <list>', 'what it has besides, with semicolons between them', listBy(';'))
    .option('--languages <list>', 'languages spoken there, such as en,de', listBy(','))
    .option('--about <text>', 'about the space, in Markdown')
    .option('--house-rules <text>', 'rules of the house')
    .option('--access <text>', 'on which floor it is, and how to get in')
    .action(
      operated(async ({ queries, commands, context }, id, options) => {
        const wanted: Changes<SpaceDescription> = defined(options);
        if (Object.keys(wanted).length > 0) {
          const outcome = await commands.catalogue.describeSpace({ spaceId: id, wanted }, context);
          if (isRefusal(outcome)) return outcome;
        }
        const space = await queries.operator.space(id);
        if (space === undefined) return unknown('space', id);
        return { json: { id, name: space.name, ...(await queries.descriptions.ofSpace(space)) } };
      }),
    );
}

const PUBLISH_EXAMPLES = ['space publish 1', 'space publish 1 --off'];

/** Shows a space to people without an account, or no longer. */
export function publishSpaceCommand(space: Command): void {
  subcommand(space, 'publish', 'show a space to people without an account', PUBLISH_EXAMPLES)
    .argument('<id>', 'id of the space', wholeNumber)
    .option('--off', 'no longer')
    .action(
      operated(async ({ commands, context }, id, { off = false }) => {
        const wanted = { published: off ? null : (true as const) };
        const outcome = await commands.catalogue.describeSpace({ spaceId: id, wanted }, context);
        return isRefusal(outcome) ? outcome : { json: { id, published: !off } };
      }),
    );
}

const HOUSE_NOTES = `Without options it shows the description. What no option names stays; an empty text takes a value away. An address has a street, a
city and a country. The text about the house is Markdown.`;

const HOUSE_EXAMPLES = [
  'community describe 1',
  'community describe 1 --street "Kaistraße 7" --postal-code 20457 --city Hamburg --country DE',
  'community describe 1 --coordinates 53.5436,9.9888 --directions "Two minutes from the station"',
];

/** Shows or changes what a community says of itself. */
export function describeCommunityCommand(community: Command): void {
  subcommand(community, 'describe', 'show or change what brands read about the house', HOUSE_EXAMPLES, HOUSE_NOTES)
    .argument('<id>', 'id of the community', wholeNumber)
    .option('--street <street>', 'street and number; none takes the address away')
    .option('--postal-code <code>', 'postal code')
    .option('--city <city>', 'town or city')
    .option('--country <code>', 'country, such as DE')
    .option('--coordinates <place>', 'degrees north and east, such as 53.5436,9.9888', coordinates)
    .option('--website <url>', 'website')
    .option('--about <text>', 'about the house, in Markdown')
    .option('--directions <text>', 'how to get there')
    .option('--contact <text>', 'whom to ask, and how')
    .option(
      '--sites <list>',
      'websites that may show the calendars of its spaces, with commas between them',
      listBy(','),
    )
    .option('--groups <list>', 'order and groups of its spaces, such as "Ground floor: 3,1; Garden: 2"', groupsOf)
    .action(
      operated(async ({ queries, commands, context }, id, { street, postalCode, city, country, ...options }) => {
        const wanted: Changes<HouseDescription> = defined({
          ...options,
          address: addressOf({ street, postalCode, city, country }),
        });
        if (Object.keys(wanted).length > 0) {
          const outcome = await commands.catalogue.describeCommunity({ communityId: id, wanted }, context);
          if (isRefusal(outcome)) return outcome;
        }
        const community = await queries.spaces.community(id);
        if (community === undefined) return unknown('community', id);
        return { json: { id, name: community.name, ...(await queries.descriptions.ofHouse(community)) } };
      }),
    );
}

type TypedAddress = Readonly<Record<'street' | 'postalCode' | 'city' | 'country', string | undefined>>;

function addressOf({ street, postalCode, city, country }: TypedAddress): HouseDescription['address'] | null {
  if (street === 'none') return null;
  if ([street, postalCode, city, country].every((part) => part === undefined)) return undefined;
  if (street === undefined || city === undefined || country === undefined)
    throw wrongUsage('an address has a street, a city and a country');
  return { street, ...defined({ postalCode }), city, country };
}

const unknown = (kind: 'space' | 'community', id: number): Refusal =>
  refuse('ResourceNotFound', `There is no ${kind} ${id}.`);

const NONE = 'none';

const numberOrNone = (text: string): number | null => (text === NONE ? null : wholeNumber(text));

const listBy =
  (separator: string) =>
  (text: string): readonly string[] | null =>
    text === NONE ? null : text.split(separator).map((part) => part.trim());

const choice =
  <W extends string>(words: readonly W[]) =>
  (text: string): W | null => {
    if (text === NONE) return null;
    const found = words.find((word) => word.toLowerCase() === text.toLowerCase());
    if (found === undefined) throw new InvalidArgumentError(`“${text}” is none of ${words.join(', ')}.`);
    return found;
  };

const choices =
  <W extends string>(words: readonly W[]) =>
  (text: string): readonly W[] | null => {
    if (text === NONE) return null;
    const chosen = new Set(text.split(',').map((part) => choice(words)(part.trim())));
    return words.filter((word) => chosen.has(word));
  };

/** The groups are between semicolons; a name comes before a colon. */
function groupsOf(text: string): HouseDescription['groups'] | null {
  if (text === NONE) return null;
  return text.split(';').map((group) => {
    const [, name, ids = ''] = /^(?:([^:]*):)?([^:]*)$/.exec(group) ?? [];
    const spaceIds = ids.split(',').map((id) => spaceId(wholeNumber(id.trim())));
    return { ...(name?.trim() && { name: name.trim() }), spaceIds };
  });
}

function coordinates(text: string): HouseDescription['coordinates'] | null {
  if (text === NONE) return null;
  const [, latitude, longitude] =
    /^\s*(-?\d{1,3}(?:\.\d{1,10})?)\s*,\s*(-?\d{1,3}(?:\.\d{1,10})?)\s*$/.exec(text) ?? [];
  if (latitude === undefined || longitude === undefined)
    throw new InvalidArgumentError('It must be two numbers such as 53.5436,9.9888.');
  return { latitude: Number(latitude), longitude: Number(longitude) };
}
