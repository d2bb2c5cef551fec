import type { Cents, PlainDate } from '../domain/ids.ts';
import { toAmount } from '../domain/pricing.ts';
import type { Space } from '../domain/space.ts';
import type { SpaceListing } from './schemas/space.ts';

/** A space as the command line prints it with `--json`. */
export const toOperatorSpace = (space: Space) => {
  const { spaceId: id, name, windowStart, windowEnd, durationHours, answerHours } = space;
  const { communityId, timeZone, active, eventFee } = space;
  return {
    id,
    name,
    windowStart,
    windowEnd,
    durationHours,
    answerHours,
    communityId,
    timeZone,
    active,
    eventFee: toAmount(eventFee),
  };
};

/** A space as MCP lists it, with its price and today's date there. */
export const toSpaceListing = (
  space: Space,
  listed: {
    readonly communityName: string;
    readonly today: PlainDate;
    readonly totalPrice: Cents;
    readonly currency: string;
  },
): SpaceListing => {
  const { spaceId, name, communityId, timeZone, windowStart, windowEnd, durationHours, active } = space;
  const { communityName, today, totalPrice, currency } = listed;
  return {
    spaceId,
    name,
    communityId,
    communityName,
    timeZone,
    today,
    windowStart,
    windowEnd,
    durationHours,
    totalPrice: toAmount(totalPrice),
    currency,
    active,
  };
};
