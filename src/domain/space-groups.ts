import { type Refusal, refuseField, refuseFor } from './decision.ts';
import type { SpaceId } from './ids.ts';
import { MAX_GROUPS, NAME, wrongText } from './limits.ts';

/** Spaces of a community that are shown together, in this order. */
export type SpaceGroup = {
  /** Absent: shown without a heading. */
  readonly name?: string;
  readonly spaceIds: readonly SpaceId[];
};

/** Refuses too many groups, and a name or a space that occurs twice. */
export function wrongGroups(groups: readonly SpaceGroup[]): Refusal | undefined {
  if (groups.length > MAX_GROUPS) return refuseField('groups', `must be at most ${MAX_GROUPS}`);
  const names = groups.map(({ name }) => name ?? '');
  const ids = groups.flatMap(({ spaceIds }) => spaceIds);
  if (isRepeated(names) || isRepeated(ids)) return refuseField('groups', 'must have each name and each space once');
  return refuseFor(groups.map(({ name }) => (name === undefined ? undefined : wrongText('groups', name, NAME))));
}

const isRepeated = (list: readonly unknown[]): boolean => new Set(list).size < list.length;

/** Spaces in the groups and the order of their community. Those in no group come last, in the order of the list. */
export function grouped<S extends { readonly spaceId: SpaceId }>(
  spaces: readonly S[],
  groups: readonly SpaceGroup[] = [],
): readonly { readonly name?: string; readonly spaces: readonly S[] }[] {
  const rest = new Map(spaces.map((space) => [space.spaceId, space]));
  const inGroups = groups.map(({ spaceIds, ...group }) => ({ ...group, spaces: spaceIds.flatMap((id) => taken(id)) }));
  return [...inGroups, { spaces: [...rest.values()] }].filter((group) => group.spaces.length > 0);

  function taken(id: SpaceId): readonly S[] {
    const space = rest.get(id);
    rest.delete(id);
    return space === undefined ? [] : [space];
  }
}
