import type { Cents, PlainDate } from '../domain/ids.ts';
import { picked } from '../domain/picked.ts';
import { toAmount } from '../domain/pricing.ts';
import type { Space } from '../domain/space.ts';
import type { SpaceListing } from './schemas/space.ts';

/** A space as the command line prints it with `--json`. */
export const toOperatorSpace = (space: Space) => ({
  id: space.spaceId,
  ...picked(space, ['name', 'windowStart', 'windowEnd', 'durationHours', 'answerHours']),
  ...picked(space, ['communityId', 'timeZone', 'active']),
  eventFee: toAmount(space.eventFee),
});

/** A space as MCP lists it, with its price and today's date there. */
export const toSpaceListing = (
  space: Space,
  listed: {
    readonly communityName: string;
    readonly today: PlainDate;
    readonly totalPrice: Cents;
    readonly currency: string;
  },
): SpaceListing => ({
  ...picked(space, ['spaceId', 'name', 'communityId']),
  communityName: listed.communityName,
  timeZone: space.timeZone,
  today: listed.today,
  ...picked(space, ['windowStart', 'windowEnd', 'durationHours']),
  totalPrice: toAmount(listed.totalPrice),
  currency: listed.currency,
  active: space.active,
});
