import type { Credentials } from '../credentials/credentials.ts';
import type { DocumentStore, DocumentStoreOperations } from '../document-store/document-store.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { PhotoStore } from '../photos/photos.ts';
import type { DailyUses, Use } from '../quotas/daily-use.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import type { CommandHandler } from './command-handler.ts';
import type { Sequence, SequenceName } from './sequence.ts';

/** What commands read before they decide, and the records that they write besides events. */
export type CommandSources = {
  readonly documents: DocumentStore & Pick<DocumentStoreOperations, 'now'>;
  readonly readModels: ReadModels;
  readonly personalData: PersonalData;
  readonly credentials: Pick<Credentials, 'add' | 'addFeed' | 'end' | 'setSuspended'>;
  readonly photos: PhotoStore;
  readonly clock: Clock;
  readonly settings: {
    readonly serviceFeePercent: number;
    readonly currency: string;
    /** How many pending requests a brand may have. Undefined: any number. */
    readonly pendingLimit?: number | undefined;
    readonly secretKey: SecretKey;
    readonly webhooksPerAccount: number;
    /** Keys an account may have that are not revoked. */
    readonly apiKeysPerAccount: number;
    /** Spaces a community may have, closed ones included. */
    readonly spacesPerCommunity: number;
    /** What the photos of a community may take in the store, in bytes. */
    readonly photoBytesPerCommunity: number;
    /** What one account may write in a day. */
    readonly accountPerDay: Use;
  };
  readonly makeSigningSecret: () => string;
  /** The problem of a URL to deliver to, if it has one (`src/outbound/public-address.ts`). */
  readonly urlProblem: (url: string) => string | undefined;
};

export type CommandDeps = CommandSources & {
  readonly handler: CommandHandler;
  readonly uses: DailyUses;
  readonly ids: { readonly [S in SequenceName]: Sequence };
};
