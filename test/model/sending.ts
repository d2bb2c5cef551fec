import { logEnd } from '../../src/event-store/event-store.ts';
import { type MailRecord, messageIdOf } from '../../src/mail/mail-record.ts';
import { type OutboxRole, readMarks } from '../../src/outbox/marks.ts';
import { eventually } from '../eventually.ts';
import type { Both } from './calls.ts';
import { isLimited, MAILS_AN_HOUR, type Mail } from './mails.ts';
import type { Member, Model } from './model.ts';
import { MAIL_HOST, type ModelledService, type Outside } from './modelled-service.ts';
import { same } from './same.ts';

const HOUR_MS = 3_600_000;

/** What one history has been sent, and what it says. */
export class Sending {
  readonly #service: ModelledService;
  readonly #model: Model;
  readonly #outside: Outside;
  /** What was looked at. */
  #seen: { readonly deliveries: number; readonly mails: number };
  /** Those before belong to other histories. */
  readonly #firstDelivery: number;
  readonly #mails: ArrivedMail[] = [];
  /** Whether the mail server was away: then more than an hour's mail comes at once. */
  #wasAway = false;

  constructor(service: ModelledService, model: Model, outside: Outside) {
    this.#service = service;
    this.#model = model;
    this.#outside = outside;
    this.#firstDelivery = outside.receiver.received.length;
    // Those of other histories would fill the memory.
    outside.smtp.arrived.length = 0;
    this.#seen = { deliveries: this.#firstDelivery, mails: 0 };
  }

  /** Sends what waits, and compares all that was sent so far. @returns what new deliveries and mails say */
  async send({ isMailAway, pathOf, emailOf }: Sent): Promise<readonly string[]> {
    const { receiver, smtp } = this.#outside;
    await this.#deliver(pathOf);
    await this.#mail(isMailAway, emailOf);
    const { deliveries, mails } = this.#seen;
    this.#seen = { deliveries: receiver.received.length, mails: smtp.arrived.length };
    const texts = smtp.arrived
      .slice(mails)
      .map(({ mail: { subject, text, html } }) => [subject, text, html].join('\n'));
    return [...receiver.received.slice(deliveries).map(({ body }) => body), ...texts];
  }

  /** Each registration gets what it is owed, once, and nothing else. */
  async #deliver(pathOf: Sent['pathOf']): Promise<void> {
    const webhooks = await this.#service.openWebhooks();
    const expected = this.#model
      .deliver()
      .map(({ webhookId, event, bookingId }) => `${pathOf(webhookId)} ${event} ${bookingId}`);
    const delivered = () =>
      this.#outside.receiver.received.slice(this.#firstDelivery).map(({ path, body }) => {
        const { event, data } = JSON.parse(body);
        return `${path} ${event} ${data.bookingId}`;
      });
    await webhooks.start();
    await settled(async () => {
      await this.#isFannedOut('webhooks');
      if ((await webhooks.oldestPendingDelivery()) !== undefined) throw new Error('A delivery waits');
      if (delivered().length < expected.length) throw new Error('Not all have come');
    });
    await webhooks.stop();
    same('What was delivered', delivered().toSorted(), expected.toSorted());
  }

  /** Each member gets the mails that the model knows of, and no other person gets one. */
  async #mail(isAway: boolean, emailOf: Sent['emailOf']): Promise<void> {
    const { mails } = this.#model;
    this.#outside.smtp.onConnect = async () => (isAway ? { status: 421, text: 'Away' } : undefined);
    this.#wasAway ||= isAway;
    const sent = mails.send(isAway);
    const isExact = (kind: string, userId: string) => !(isLimited(kind) && mails.digested.has(userId));
    const promised = sent
      .filter(({ kind, to }) => isExact(kind, to.userId))
      .map(lineOf)
      .toSorted();
    const mail = await this.#service.openMail();
    const arrivedLines = async () => {
      const all = [...this.#mails, ...(await this.#newMails(mail))];
      return all.filter(({ kind, userId }) => isExact(kind, userId)).map(({ line }) => line);
    };
    mail.start();
    await settled(async () => {
      await this.#isFannedOut('mail');
      await this.#isStored(mail, isAway);
      if ((await arrivedLines()).length < promised.length) throw new Error('Not all have come');
    });
    await mail.stop();
    same('The mails', (await arrivedLines()).toSorted(), promised);
    this.#mails.push(...(await this.#newMails(mail)));
    for (const { to, userId } of this.#mails) same('The address of a user', to, emailOf(userId));
    if (!isAway) this.#checkDigests();
  }

  /** Whether all mails are in the store, and those that are due are sent. */
  async #isStored(mail: MailRole, isAway: boolean): Promise<void> {
    const { mails, now } = this.#model;
    const pending = await mail.list('Pending', 10_000);
    if (pending.length < mails.waiting()) throw new Error('A mail is not stored yet');
    // A digest waits for an hour.
    const isDue = ({ inDigest, due }: MailRecord) => inDigest === undefined || due <= new Date(now).toISOString();
    if (!isAway && pending.some(isDue)) throw new Error('A mail waits');
    const ended = await Promise.all((['Sent', 'Skipped', 'Failed'] as const).map((state) => mail.list(state, 10_000)));
    const limited = [pending, ...ended].flat().filter(({ kind }) => isLimited(kind));
    for (const [userId, owed] of mails.digested) {
      // The records of a user who is forgotten end.
      if (this.#model.isForgotten(`user:${userId}`)) continue;
      const stored = limited.filter((record) => record.userId === userId);
      if (stored.length < owed.length) throw new Error('A mail is not stored yet');
    }
  }

  /** Of users who were to get many mails at once, some come alone, and the others in a digest. Which of them is not promised. */
  #checkDigests(): void {
    const { mails, now } = this.#model;
    for (const [userId, owed] of mails.digested) {
      const arrived = this.#mails.filter((each) => each.userId === userId && isLimited(each.kind));
      const alone = arrived.filter(({ isDigest }) => !isDigest);
      const lines = Map.groupBy(owed, lineOf);
      for (const [line, times] of Map.groupBy(alone, (each) => each.line))
        if (times.length > (lines.get(line)?.length ?? 0)) throw new Error(`Not owed, or twice: ${line}`);
      const lately = alone.filter(({ at }) => at > now - HOUR_MS);
      if (lately.length > MAILS_AN_HOUR && !this.#wasAway) throw new Error(`${lately.length} mails in an hour`);
      const unowed = arrived
        .flatMap(({ bookings }) => bookings)
        .filter((id) => !owed.some((each) => each.booking?.dto.id === id));
      same('Bookings named in a digest that are not owed', unowed, []);
    }
    for (const [userId, owed] of mails.digests()) {
      const arrived = this.#mails.filter((each) => each.userId === userId);
      const isThere = (mail: Mail) =>
        arrived.some(({ line, isDigest, bookings }) =>
          isDigest ? bookings.includes(mail.booking?.dto.id ?? 0) : line === lineOf(mail),
        );
      same('What came neither alone nor in a digest', owed.filter((mail) => !isThere(mail)).map(lineOf), []);
    }
  }

  /** A mail program turns off a mail that has arrived, with the link in its headers. */
  async unsubscribe(index: number): Promise<Both | undefined> {
    const withLink = this.#mails.filter(({ link }) => link !== undefined);
    const chosen = withLink[index % (withLink.length || 1)];
    if (chosen?.link === undefined) return undefined;
    const { link, kind, member, isDigest } = chosen;
    const { pathname, search, searchParams } = new URL(link);
    // A digest of one mail is as that mail alone.
    const which = isDigest ? (searchParams.get('kind') ?? '') : kind;
    const { statusCode: status } = await this.#service.app.inject({
      method: 'POST',
      url: `${pathname}${search}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'List-Unsubscribe=One-Click',
    });
    const { choices } = this.#model.mails;
    if (this.#model.roleOf(member) !== undefined) choices.turnOff(member, which);
    return [{ status }, { status: 200 }];
  }

  /** Those that have arrived since the last ones, with what their records say: a record may end with its user. */
  async #newMails(mail: MailRole): Promise<readonly ArrivedMail[]> {
    const records = await mail.list('Sent', 10_000);
    const byMessage = new Map(records.map((record) => [messageIdOf(record.mailId, MAIL_HOST), record]));
    const arrived = this.#outside.smtp.arrived.slice(this.#seen.mails);
    return arrived.map((each) => arrivedMail(each, byMessage.get(each.mail.messageId ?? ''), this.#model.now));
  }

  async #isFannedOut(role: OutboxRole): Promise<void> {
    const { core, release } = this.#service;
    const { documents, events } = core;
    const [end, marks] = [await logEnd(events), await readMarks(documents, role)];
    if (release.kinds[role].some((kind) => (marks[kind] ?? '') < end))
      throw new Error('Fan-out has not reached the end of the log');
  }
}

/** Waits until a check passes. What differs in the end shows what did not come. */
const settled = (check: () => Promise<void>): Promise<void> => eventually(check).catch(() => {});

type MailRole = Awaited<ReturnType<ModelledService['openMail']>>;
type Sent = {
  readonly isMailAway: boolean;
  readonly pathOf: (webhookId: string) => string;
  readonly emailOf: (userId: string) => string;
};

const lineOf = ({ kind, to, booking }: Pick<Mail, 'kind' | 'to' | 'booking'>): string =>
  lineFor(kind, to, booking?.dto.id);

const lineFor = (kind: string, { userId, kind: account, id }: Member, bookingId: number | undefined): string =>
  `${kind} to ${userId} of ${account} ${id} ${kind === 'EventTomorrow' ? '' : (bookingId ?? '')}`;

type ArrivedMail = ReturnType<typeof arrivedMail>;

/** What a mail that has arrived is about, by its record and its text. */
function arrivedMail(
  { to, raw, mail }: Outside['smtp']['arrived'][number],
  record: MailRecord | undefined,
  at: number,
) {
  const { kind = 'None', userId = '', account = '', about, inDigest } = record ?? {};
  const [party, id] = account.split(':');
  const member: Member = { userId, kind: party === 'Brand' ? 'Brand' : 'Community', id: Number(id) };
  const headers = raw.replaceAll(/\r\n[ \t]+/g, ' ');
  return {
    line: lineFor(kind, member, about?.bookingId === undefined ? undefined : Number(about.bookingId)),
    to: to.join(),
    at,
    kind,
    userId,
    member,
    isDigest: inDigest === true,
    link: /^List-Unsubscribe: <([^>]+)>/m.exec(headers)?.[1],
    bookings: Array.from(String(mail.html).matchAll(/\/console\/bookings\/(\d+)/g), ([, booking]) => Number(booking)),
  };
}
