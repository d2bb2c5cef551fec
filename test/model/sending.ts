import { keysOf } from '../../src/domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../../src/domain/webhook.ts';
import { logEnd } from '../../src/event-store/event-store.ts';
import { messageIdOf } from '../../src/mail/mail-record.ts';
import { MAILED } from '../../src/mail/recipients.ts';
import { type OutboxRole, readMarks } from '../../src/outbox/marks.ts';
import { eventually } from '../eventually.ts';
import type { Mail } from './mails.ts';
import type { Model } from './model.ts';
import { MAIL_HOST, type ModelledService, type Outside } from './modelled-service.ts';
import { same } from './same.ts';

/** What one history has been sent, and what it says. */
export class Sending {
  readonly #service: ModelledService;
  readonly #model: Model;
  readonly #outside: Outside;
  /** What was looked at. */
  #seen: { readonly deliveries: number; readonly mails: number };
  /** Those before belong to other histories. */
  readonly #firstDelivery: number;
  readonly #mails: string[] = [];

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
    await this.#until(
      expected,
      () => delivered().length,
      async () => {
        await this.#isFannedOut('webhooks', keysOf(WEBHOOK_EVENTS));
        if ((await webhooks.oldestPendingDelivery()) !== undefined) throw new Error('A delivery waits');
      },
    );
    await webhooks.stop();
    same('What was delivered', delivered().toSorted(), expected.toSorted());
  }

  /** Each member gets the mails that the model knows of, and no other person gets one. */
  async #mail(isAway: boolean, emailOf: Sent['emailOf']): Promise<void> {
    const { smtp } = this.#outside;
    const { mails } = this.#model;
    smtp.onConnect = async () => (isAway ? { status: 421, text: 'Away' } : undefined);
    const isCompared = (line: string) => ![...mails.digested].some((userId) => line.includes(emailOf(userId)));
    const promised = mails.send(isAway).map(lineOf(emailOf)).filter(isCompared);
    const mail = await this.#service.openMail();
    mail.start();
    await this.#until(
      promised,
      () => [...this.#mails, ...this.#newMails()].length,
      async () => {
        await this.#isFannedOut('mail', MAILED.kinds);
        // A digest waits for an hour.
        if (!isAway && mails.digested.size === 0 && (await mail.countPending()) > 0) throw new Error('A mail waits');
      },
    );
    await mail.stop();
    // The records may end with their users.
    const records = await mail.list('Sent', 10_000);
    const byMessage = new Map(records.map((record) => [messageIdOf(record.mailId, MAIL_HOST), record]));
    for (const { to, mail: arrived } of this.#newMails()) {
      const { kind, account = '', about } = byMessage.get(arrived.messageId ?? '') ?? {};
      const booking = kind === 'EventTomorrow' ? '' : (about?.bookingId ?? '');
      this.#mails.push(`${kind} to ${to.join()} of ${account.replace(':', ' ')} ${booking}`);
    }
    same('The mails', this.#mails.filter(isCompared).toSorted(), promised.toSorted());
  }

  #newMails = () => this.#outside.smtp.arrived.slice(this.#seen.mails);

  async #isFannedOut(role: OutboxRole, kinds: readonly string[]): Promise<void> {
    const { documents, events } = this.#service.core;
    const [end, marks] = [await logEnd(events), await readMarks(documents, role)];
    if (kinds.some((kind) => (marks[kind] ?? '') < end)) throw new Error('Fan-out has not reached the end of the log');
  }

  /** Waits for as much as is expected. What differs in the end shows what did not come. */
  async #until(expected: readonly string[], arrived: () => number, isSettled: () => Promise<void>): Promise<void> {
    await eventually(async () => {
      await isSettled();
      if (arrived() < expected.length) throw new Error(`${arrived()} of ${expected.length} have come`);
    }).catch(() => {});
  }
}

type Sent = {
  readonly isMailAway: boolean;
  readonly pathOf: (webhookId: string) => string;
  readonly emailOf: (userId: string) => string;
};

const lineOf =
  (emailOf: Sent['emailOf']) =>
  ({ kind, to, booking }: Mail): string =>
    `${kind} to ${emailOf(to.userId)} of ${to.kind} ${to.id} ${kind === 'EventTomorrow' ? '' : (booking?.dto.id ?? '')}`;
