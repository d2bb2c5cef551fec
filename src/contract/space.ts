import { localDate } from '../domain/calendar.ts';
import { picked } from '../domain/picked.ts';
import { priceOf, toAmount } from '../domain/pricing.ts';
import type { NamedSpace, Space } from '../domain/space.ts';
import type { SpaceDto, SpaceListing } from './schemas/space.ts';

/** A space as the command line prints it with `--json`. */
export const toOperatorSpace = (space: Space) => ({
  id: space.spaceId,
  ...picked(space, ['name', 'windowStart', 'windowEnd', 'durationHours', 'answerHours']),
  ...picked(space, ['communityId', 'timeZone', 'active']),
  eventFee: toAmount(space.eventFee),
});

type Pricing = { readonly serviceFeePercent: number; readonly currency: string };

const named = ({ space, communityName }: NamedSpace) => ({
  ...picked(space, ['name', 'communityId']),
  communityName,
  timeZone: space.timeZone,
});

const terms = ({ space }: NamedSpace, { serviceFeePercent, currency }: Pricing) => ({
  ...picked(space, ['windowStart', 'windowEnd', 'durationHours']),
  totalPrice: toAmount(priceOf(space.eventFee, serviceFeePercent).totalPrice),
  currency,
});

export const toSpaceDto = (of: NamedSpace, pricing: Pricing): SpaceDto => ({
  id: of.space.spaceId,
  ...named(of),
  ...terms(of, pricing),
  ...picked(of.space, ['answerHours', 'active']),
});

/** A space as MCP lists it, with today's date there. */
export const toSpaceListing = (of: NamedSpace, pricing: Pricing, now: number): SpaceListing => ({
  spaceId: of.space.spaceId,
  ...named(of),
  today: localDate(now, of.space.timeZone),
  ...terms(of, pricing),
  active: of.space.active,
});
