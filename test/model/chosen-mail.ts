import { accountKey } from '../../src/domain/account.ts';
import { wants } from '../../src/mail/preferences.ts';
import { accountOf } from './faces.ts';
import type { ChosenKind } from './mail-choices.ts';
import type { Member, Model } from './model.ts';
import type { ModelledService } from './modelled-service.ts';
import { same } from './same.ts';

/** Compares the mail that each member wants, for all spaces and for each of those that the account has. */
export async function compareChoices(
  service: ModelledService,
  model: Model,
  members: readonly Member[],
  spaces: readonly { readonly id: number; readonly communityId: number }[],
  kinds: readonly ChosenKind[],
): Promise<void> {
  for (const member of members) {
    const role = model.roleOf(member);
    if (role === undefined || model.isForgotten(`user:${member.userId}`)) continue;
    const { preferences } = service.core.mailContent;
    const chosen = await preferences.get(member.userId, accountKey(accountOf(member)));
    const own = spaces.filter(({ communityId }) => member.kind === 'Community' && member.id === communityId);
    for (const spaceId of [undefined, ...own.map(({ id }) => id)])
      same(
        `What ${member.userId} of ${member.kind} ${member.id} wants to hear of space ${spaceId}`,
        kinds.filter((kind) => wants(chosen, kind, role, spaceId)),
        kinds.filter((kind) => model.mails.choices.wants({ ...member, role }, kind, spaceId)),
      );
  }
}
