import type { Store } from './store.ts';

/** A community with spaces, a brand that books them, their keys and users. Each round creates new ones, even on a shared store. */
export type Market = {
  readonly communityId: number;
  readonly brandId: number;
  readonly communityKey: string;
  readonly brandKey: string;
  readonly spaces: readonly number[];
  /** Who signs in to the console. */
  readonly users: Readonly<Record<'brand' | 'community', { readonly email: string; readonly password: string }>>;
};

const SPACES = 4;

/** @param root the folder of the release whose command line is used */
export async function openMarket(store: Store, root?: string): Promise<Market> {
  const runWith = async (args: readonly string[], input?: string) => {
    const ended = await store.venue(args, root, input);
    if (ended.code !== 0) throw new Error(`venue ${args.join(' ')}: ${ended.stderr}`);
    return JSON.parse(ended.stdout);
  };
  const run = (...args: readonly string[]) => runWith(args);
  const addUser = async (...account: readonly string[]) => {
    const user = { email: `${crypto.randomUUID()}@example.com`, password: 'correct horse battery' };
    await runWith(['user', 'add', '--email', user.email, ...account], user.password);
    return user;
  };
  // This zone never skips or repeats an hour.
  const community = await run('community', 'add', '--name', 'Soak', '--time-zone', 'Asia/Tokyo');
  const ownedBy = ['--community', String(community.id)];
  const terms = ['--window', '0-23', '--duration', '1', '--fee', '42'];
  const brand = await run('brand', 'add', '--name', 'Soak');
  const ofBrand = ['--brand', String(brand.id)];
  const [communityKey, brandKey, communityUser, brandUser, ...spaces] = await Promise.all([
    run('api-key', 'issue', ...ownedBy),
    run('api-key', 'issue', ...ofBrand),
    addUser(...ownedBy),
    addUser(...ofBrand),
    ...Array.from({ length: SPACES }, (_, n) => run('space', 'add', ...ownedBy, '--name', `Hall ${n}`, ...terms)),
  ]);
  return {
    communityId: community.id,
    brandId: brand.id,
    communityKey: communityKey.key,
    brandKey: brandKey.key,
    spaces: spaces.map(({ id }) => id),
    users: { community: communityUser, brand: brandUser },
  };
}
