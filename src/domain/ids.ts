declare const kind: unique symbol;
type Branded<T, K extends string> = T & { readonly [kind]: K };

export type CommunityId = Branded<number, 'CommunityId'>;
export type SpaceId = Branded<number, 'SpaceId'>;
export type BrandId = Branded<number, 'BrandId'>;
export type BookingId = Branded<number, 'BookingId'>;
export type ReviewId = Branded<number, 'ReviewId'>;
export type ApiKeyId = Branded<string, 'ApiKeyId'>;
export type WebhookId = Branded<string, 'WebhookId'>;
export type ClosureId = Branded<string, 'ClosureId'>;
export type FeedId = Branded<string, 'FeedId'>;
export type MoveId = Branded<string, 'MoveId'>;

/** Integer cents. */
export type Cents = Branded<number, 'Cents'>;
/** A calendar date, YYYY-MM-DD, without a zone. */
export type PlainDate = Branded<string, 'PlainDate'>;
/** ISO 8601 in UTC with milliseconds, as `Date.prototype.toISOString` writes it; sorts as text. */
export type Timestamp = Branded<string, 'Timestamp'>;

export const communityId = (value: number) => value as CommunityId;
export const spaceId = (value: number) => value as SpaceId;
export const brandId = (value: number) => value as BrandId;
export const bookingId = (value: number) => value as BookingId;
export const reviewId = (value: number) => value as ReviewId;
export const apiKeyId = (value: string) => value as ApiKeyId;
export const webhookId = (value: string) => value as WebhookId;
export const closureId = (value: string) => value as ClosureId;
export const feedId = (value: string) => value as FeedId;
export const moveId = (value: string) => value as MoveId;
export const cents = (value: number) => value as Cents;
export const timestamp = (value: string) => value as Timestamp;
