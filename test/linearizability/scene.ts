import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Environment } from '../service/node-process.ts';
import { temporaryDataDir } from '../service/service-process.ts';
import { Fleet } from './fleet.ts';
import { addHouse, type House, type Party, signIn } from './house.ts';
import type { Scene } from './play.ts';

/** How many processes, and for how many space-days there are spaces. `prepare`: fills the store further while nothing runs on it. */
type Wanted = {
  readonly processes: number;
  readonly spaceDays: number;
  readonly prepare?: (settings: Environment) => Promise<void>;
};

type OpenScene = {
  readonly house: House;
  readonly fleet: Fleet;
  readonly scene: Scene;
  /** Of each process. */
  readonly settings: Environment;
};

/** Starts processes on an empty store with a house, and signs its users in. They end with the test. */
export async function openScene(servers: Environment, { processes, spaceDays, prepare }: Wanted): Promise<OpenScene> {
  const secretKey = randomBytes(32);
  const settings: Environment = {
    DATA_DIR: temporaryDataDir(),
    SECRET_KEY: secretKey.toString('base64'),
    DEMO: 'false',
    LOG_LEVEL: 'warn',
    CONSOLE_WRITES_PER_MINUTE: '1000',
    ...servers,
  };
  const house = await addHouse(settings, spaceDays);
  await prepare?.(settings);
  const fleet = await Fleet.start(processes, settings);
  onTestFinished(() => fleet.stop());
  const url = fleet.members[0]?.url ?? '';
  const join = async (party: Party) => ({ ...party, session: await signIn(url, party) });
  const [community, ...brands] = await Promise.all([house.community, ...house.brands].map(join));
  if (community === undefined) throw new Error('No community');
  return { house, fleet, scene: { members: fleet.members, secretKey, community, brands }, settings };
}
