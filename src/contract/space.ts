import { localDate, WEEKDAYS } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import {
  type HouseDescription,
  SHOWN_OF_HOUSE,
  type ShownOfHouse,
  SPACE_FACTS,
  SPACE_TEXTS,
  type SpaceDescription,
} from '../domain/description.ts';
import type { DayHours } from '../domain/events.ts';
import type { Cents, PlainDate } from '../domain/ids.ts';
import type { Photo } from '../domain/photos.ts';
import { picked } from '../domain/picked.ts';
import { priceOf, toAmount } from '../domain/pricing.ts';
import { datesFrom, type NamedSpace, type Space } from '../domain/space.ts';
import { photoUrl, toPhotoDto } from './photo.ts';
import type { FoundSpace, SpaceDetails, SpaceDto, SpaceListing } from './schemas/space.ts';

/** A space as the command line prints it with `--json`. */
export const toOperatorSpace = (space: Space) => ({
  id: space.spaceId,
  ...picked(space, ['name', 'windowStart', 'windowEnd', 'durationHours', 'answerHours']),
  ...picked(space, ['communityId', 'timeZone', 'active']),
  eventFee: toAmount(space.eventFee),
});

/** The hours and rules of a space as `venue space hours` prints them with `--json`. @param today leaves out the dates before it */
export const toOperatorHours = (space: Space, today: PlainDate) => {
  const ownFee = (fee: Cents | undefined) => defined({ eventFee: fee === undefined ? undefined : toAmount(fee) });
  const own = space.week?.length ? space.week : WEEKDAYS.map(() => picked(space, ['windowStart', 'windowEnd']));
  return {
    id: space.spaceId,
    ...picked(space, ['name', 'windowStart', 'windowEnd', 'durationHours']),
    eventFee: toAmount(space.eventFee),
    gapHours: space.gapHours ?? 0,
    noticeHours: space.noticeHours ?? 0,
    cancelHours: space.cancelHours ?? 0,
    horizonDays: space.horizonDays ?? null,
    week: weekOf(own, ownFee),
    special: datesOf(space, today, ownFee),
  };
};

type FeeOf<F> = (fee: Cents | undefined) => F;

const weekOf = <F>(week: readonly (DayHours | 'closed')[], feeOf: FeeOf<F>) =>
  week.flatMap((hours, day) => {
    const weekday = WEEKDAYS[day];
    if (weekday === undefined) return [];
    return hours === 'closed'
      ? [{ weekday, open: false }]
      : [{ weekday, open: true, ...picked(hours, ['windowStart', 'windowEnd']), ...feeOf(hours.eventFee) }];
  });

const datesOf = <F>(space: Space, today: PlainDate, feeOf: FeeOf<F>) =>
  datesFrom(today, space).map(([date, hours]) => ({
    date,
    ...picked(hours, ['windowStart', 'windowEnd']),
    ...feeOf(hours.eventFee),
  }));

/** All but whether it is published. */
const FACTS = SPACE_FACTS.filter((field) => field !== 'published');

type Pricing = { readonly serviceFeePercent: number; readonly currency: string };

const described = ({ space, house }: NamedSpace) => ({
  ...picked(space.facts ?? {}, FACTS),
  ...houseOf(house),
});

/** The house of a space, if its community has described it. */
function houseOf(house: HouseDescription = {}): { readonly house?: Pick<HouseDescription, ShownOfHouse> } {
  const shown = picked(house, SHOWN_OF_HOUSE);
  return Object.keys(shown).length > 0 ? { house: shown } : {};
}

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

/** The hours of weekdays and dates, with their prices, and the rules about time. Absent if the space has none. */
const hoursAndRules = ({ space }: NamedSpace, { serviceFeePercent }: Pricing, now: number) => {
  const price: FeeOf<{ readonly totalPrice: number }> = (fee = space.eventFee) => ({
    totalPrice: toAmount(priceOf(fee, serviceFeePercent).totalPrice),
  });
  const specialHours = datesOf(space, localDate(now, space.timeZone), price);
  return defined({
    week: space.week?.length ? weekOf(space.week, price) : undefined,
    specialHours: specialHours.length === 0 ? undefined : specialHours,
    noticeHours: space.noticeHours || undefined,
    horizonDays: space.horizonDays,
    cancelHours: space.cancelHours || undefined,
  });
};

/** What the hours of a space depend on besides the space: today, if it has special hours, because those before it are left out. */
export const timeOfHours = ({ special, timeZone }: Space, now: number): string =>
  special === undefined ? '' : localDate(now, timeZone);

/** @param now leaves out the special hours of dates that are over */
export const toSpaceDto = (of: NamedSpace, pricing: Pricing, now: number): SpaceDto => ({
  id: of.space.spaceId,
  ...named(of),
  ...terms(of, pricing),
  ...picked(of.space, ['answerHours', 'active']),
  ...hoursAndRules(of, pricing, now),
  ...described(of),
});

/** What a community says and shows of a space and of its house. */
type Shown = {
  readonly space: SpaceDescription;
  readonly house: HouseDescription;
  readonly photos: readonly Photo[];
  readonly housePhotos: readonly Photo[];
};

/** A space with all that is written about it and its house, and their photos. */
export const toSpaceDetails = (
  of: NamedSpace,
  { space, house, photos, housePhotos }: Shown,
  settings: Pricing & { readonly publicUrl: string },
  now: number,
): SpaceDetails => {
  const dtosOf = (list: readonly Photo[]) => list.map((photo) => toPhotoDto(photo, settings.publicUrl));
  return {
    ...toSpaceDto(of, settings, now),
    ...picked(space, SPACE_TEXTS),
    ...(photos.length > 0 && { photos: dtosOf(photos) }),
    ...houseOf(house),
    ...(housePhotos.length > 0 && { housePhotos: dtosOf(housePhotos) }),
  };
};

type Found = NamedSpace & {
  readonly km?: number;
  readonly rating?: { readonly average: number; readonly count: number };
  readonly freeDays?: readonly {
    readonly date: PlainDate;
    readonly openHours: readonly number[];
    readonly price: Cents;
  }[];
};

const searchResult = ({ km, rating }: Found) =>
  defined({
    distance: km === undefined ? undefined : rounded(km, 10),
    rating: rating && { average: rounded(rating.average, 100), count: rating.count },
  });

const rounded = (value: number, parts: number): number => Math.round(value * parts) / parts;

/** A space as a search finds it. */
export const toFoundSpace = (of: Found, pricing: Pricing, now: number): FoundSpace => ({
  ...toSpaceDto(of, pricing, now),
  ...searchResult(of),
  ...(of.freeDays && {
    freeDays: of.freeDays.map(({ date, openHours, price }) => ({
      date,
      openHours: [...openHours],
      totalPrice: toAmount(price),
    })),
  }),
});

/** A space as MCP lists it, with today's date there. @param first its first photo */
export const toSpaceListing = (
  of: Found,
  pricing: Pricing & { readonly publicUrl: string },
  now: number,
  first?: Photo,
): SpaceListing => ({
  spaceId: of.space.spaceId,
  ...named(of),
  today: localDate(now, of.space.timeZone),
  ...terms(of, pricing),
  active: of.space.active,
  ...hoursAndRules(of, pricing, now),
  ...described(of),
  ...searchResult(of),
  ...(of.freeDays && { freeDates: of.freeDays.map(({ date }) => date) }),
  ...(first && { photo: photoUrl(pricing.publicUrl, first, 800) }),
});
