import type { Store } from './store.ts';

/** A community with spaces, a brand that books them, and their keys. Each round creates new ones, even on a shared store. */
export type Market = {
  readonly communityId: number;
  readonly brandId: number;
  readonly communityKey: string;
  readonly brandKey: string;
  readonly spaces: readonly number[];
};

const SPACES = 4;

/** @param root the folder of the release whose command line is used */
export async function openMarket(store: Store, root?: string): Promise<Market> {
  const run = async (...args: readonly string[]) => {
    const ended = await store.venue(args, root);
    if (ended.code !== 0) throw new Error(`venue ${args.join(' ')}: ${ended.stderr}`);
    return JSON.parse(ended.stdout);
  };
  // This zone never skips or repeats an hour.
  const community = await run('community', 'add', '--name', 'Soak', '--time-zone', 'Asia/Tokyo');
  const ownedBy = ['--community', String(community.id)];
  const terms = ['--window', '0-23', '--duration', '1', '--fee', '42'];
  const brand = await run('brand', 'add', '--name', 'Soak');
  const [communityKey, brandKey, ...spaces] = await Promise.all([
    run('api-key', 'issue', ...ownedBy),
    run('api-key', 'issue', '--brand', String(brand.id)),
    ...Array.from({ length: SPACES }, (_, n) => run('space', 'add', ...ownedBy, '--name', `Hall ${n}`, ...terms)),
  ]);
  return {
    communityId: community.id,
    brandId: brand.id,
    communityKey: communityKey.key,
    brandKey: brandKey.key,
    spaces: spaces.map(({ id }) => id),
  };
}
