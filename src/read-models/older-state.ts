import type { DocumentStore } from '../document-store/document-store.ts';
import type { Place } from './state.ts';

/** The collection that readers used in releases that had one position for all read models. */
type Pointer = {
  readonly collection: string;
  readonly version: number;
  readonly generation: number;
  readonly retired: readonly { readonly collection: string }[];
};

export type OlderState = {
  readonly place: Place;
  readonly pointer: (projection: string) => Promise<Pointer | undefined>;
};

/**
 * What a release left behind that had one position for all read models. Its collections go on being used, so that an upgrade
 * builds nothing; its own state stays as it is, in case that release comes back.
 * @returns undefined if no such release has run on this store
 */
export async function readOlderState(documents: DocumentStore): Promise<OlderState | undefined> {
  const open = <D extends object>(name: string) => documents.open<D>({ name, kind: 'readModel', indexes: [] });
  if (!(await documents.names()).includes('projector-checkpoints')) return undefined;
  const checkpoint = await (await open<Place>('projector-checkpoints')).get('projector');
  if (checkpoint === undefined) return undefined;
  const pointers = await open<Pointer>('projector-pointers');
  const { position, events } = checkpoint.document;
  return { place: { position, events }, pointer: async (projection) => (await pointers.get(projection))?.document };
}
