import type { Member, Party, Role } from './model.ts';

/** The kinds that the release before (`EARLIER`) does not know. */
export const MOVES = ['BookingMoveAsked', 'BookingMoveEnded', 'BookingMoved'] as const;

/** The kinds of mail that users turn on and off. */
export const CHOSEN_KINDS = [
  'BookingRequested',
  'AnswerDue',
  'BookingApproved',
  'BookingDeclined',
  'BookingCancelled',
  'BookingExpired',
  ...MOVES,
  'ReviewPublished',
  'EventTomorrow',
] as const;
export type ChosenKind = (typeof CHOSEN_KINDS)[number];
/** What a user ticks or selects in the settings. */
export type Ticked = { readonly on: readonly ChosenKind[]; readonly off: readonly ChosenKind[] };

const NOT_FOR: Readonly<Record<Party['kind'], readonly ChosenKind[]>> = {
  Community: ['BookingApproved', 'BookingDeclined'],
  Brand: ['AnswerDue', 'ReviewPublished'],
};
const isChosen = (kind: string): kind is ChosenKind => CHOSEN_KINDS.some((each) => each === kind);
/** Everything is on at first, but for Viewers off. */
const isOnAtFirst = (role: Role): boolean => role !== 'Viewer';

/** Which mail each member of an account wants (docs/guides/mail.md#choose-your-mail). */
export class MailChoices {
  /** By member, and by space where one differs from the choice for all. */
  readonly #chosen = new Map<string, Map<ChosenKind, boolean>>();

  /** Saves the form for all spaces: what is not ticked is off. A kind that stays as it was at first follows the role. */
  choose(member: Member, role: Role, { on }: Ticked): void {
    const differing = kindsFor(member, role).filter((kind) => on.includes(kind) !== isOnAtFirst(role));
    this.#chosen.set(nameOf(member), new Map(differing.map((kind) => [kind, on.includes(kind)])));
  }

  /** Saves the form of a space: what is neither on nor off there is as for all spaces. */
  chooseFor(spaceId: number, member: Member, role: Role, { on, off }: Ticked): void {
    const own = kindsFor(member, role).filter((kind) => on.includes(kind) || off.includes(kind));
    this.#chosen.set(nameOf(member, spaceId), new Map(own.map((kind) => [kind, on.includes(kind)])));
  }

  /** Turns a kind off, or `all` of them, also for each space. */
  turnOff(member: Member, which: string): void {
    this.#chosen.getOrInsertComputed(nameOf(member), () => new Map());
    for (const kind of CHOSEN_KINDS.filter((each) => which === 'all' || which === each))
      for (const [name, choices] of this.#chosen) {
        if (name === nameOf(member)) choices.set(kind, false);
        else if (name.startsWith(`${nameOf(member)} space `)) choices.delete(kind);
      }
  }

  /** The member leaves the account. */
  end(member: Member): void {
    for (const name of this.#chosen.keys())
      if (name === nameOf(member) || name.startsWith(`${nameOf(member)} space `)) this.#chosen.delete(name);
  }

  /** Mail about security is always wanted. Brands choose for all spaces at once. */
  wants(member: Member & { readonly role: Role }, kind: string, spaceId: number | undefined): boolean {
    if (!isChosen(kind)) return true;
    const ofSpace = member.kind === 'Community' ? this.#chosen.get(nameOf(member, spaceId))?.get(kind) : undefined;
    return ofSpace ?? this.#chosen.get(nameOf(member))?.get(kind) ?? isOnAtFirst(member.role);
  }
}

const kindsFor = ({ kind: account }: Party, role: Role): readonly ChosenKind[] =>
  CHOSEN_KINDS.filter((kind) => !NOT_FOR[account].includes(kind) && (kind !== 'AnswerDue' || role !== 'Viewer'));

const nameOf = ({ userId, kind, id }: Member, spaceId?: number): string =>
  `${userId} of ${kind} ${id}${spaceId === undefined ? '' : ` space ${spaceId}`}`;
