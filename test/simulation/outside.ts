import { setTimeout as sleep } from 'node:timers/promises';
import type { SendResult as MailResult } from '../../src/mail/outcome.ts';
import type { OutgoingMail } from '../../src/mail/sender.ts';
import type { Post, SendResult } from '../../src/webhooks/send/sender.ts';
import type { Random } from '../soak/random.ts';
import type { Fault } from './plan.ts';
import type { Process } from './process.ts';
import { virtualNow } from './virtual-time.ts';

type ReceiverFault = Extract<Fault, { fault: 'receiver' }>;
type MailFault = Extract<Fault, { fault: 'mail' }>;

/** A try to hand something over. */
export type Attempt = {
  readonly at: number;
  readonly process: Process;
  /** Whether it arrived; undefined while it is under way. */
  isTaken: boolean | undefined;
  /** Whether the process has its answer. */
  isAnswered: boolean;
};
export type DeliveryAttempt = Attempt & { readonly deliveryId: string; readonly url: string; readonly body: string };
export type MailAttempt = Attempt & { readonly mail: OutgoingMail };

/** Called as a process begins to send. */
type Watch = {
  readonly onDelivery: (attempt: DeliveryAttempt) => void;
  readonly onMail: (attempt: MailAttempt) => void;
};

/** As the sender of webhooks waits for an answer. */
const DEADLINE_MS = 5_000;

/** The receivers of webhooks, and the mail server. */
export class Outside {
  readonly deliveries: DeliveryAttempt[] = [];
  readonly mails: MailAttempt[] = [];
  readonly #random: Random;
  readonly #receivers = new Set<ReceiverFault>();
  readonly #mail = new Set<MailFault>();
  readonly #watch: Watch;

  constructor(random: Random, watch: Watch) {
    this.#random = random;
    this.#watch = watch;
  }

  begin(fault: ReceiverFault | MailFault): void {
    if (fault.fault === 'receiver') this.#receivers.add(fault);
    else this.#mail.add(fault);
  }

  end(fault: ReceiverFault | MailFault): void {
    if (fault.fault === 'receiver') this.#receivers.delete(fault);
    else this.#mail.delete(fault);
  }

  readonly post = async (process: Process, { url, headers, body }: Post): Promise<SendResult> => {
    await process.pass();
    const deliveryId = headers['webhook-id'] ?? '';
    const attempt: DeliveryAttempt = { at: virtualNow(), process, deliveryId, url, body, ...UNDER_WAY };
    this.#watch.onDelivery(attempt);
    this.deliveries.push(attempt);
    const how = [...this.#receivers].find(({ receiver }) => url.endsWith(`/${receiver}`))?.how;
    const duration = await this.#take(process, attempt, how);
    const result = { duration, answer: '', address: '192.0.2.1' };
    if (how === undefined || how === 'is slow') return { ...result, status: 204 };
    if (how === 'refuses') return { ...result, status: 500 };
    return { ...result, error: { type: how === 'is away' ? 'Refused' : 'Timeout', message: how } };
  };

  readonly sendMail = async (process: Process, mail: OutgoingMail): Promise<MailResult> => {
    await process.pass();
    const attempt: MailAttempt = { at: virtualNow(), process, mail, ...UNDER_WAY };
    this.#watch.onMail(attempt);
    this.mails.push(attempt);
    const [fault] = this.#mail;
    await this.#take(process, attempt, fault?.how);
    if (fault === undefined || fault.how === 'is slow')
      return { outcome: 'accepted', code: 250, response: '250 Taken' };
    if (fault.how === 'refuses') return { outcome: 'refused', isFinal: false, code: 450, response: '450 Later' };
    return { outcome: 'unreachable', cause: 'NoAnswer', response: fault.how };
  };

  /** @returns how long the answer took */
  async #take(process: Process, attempt: Attempt, how: ReceiverFault['how'] | MailFault['how'] | undefined) {
    const { between } = this.#random;
    const isHanging = how === 'hangs' || how === 'takes it and hangs';
    const duration = isHanging ? DEADLINE_MS : how === 'is slow' ? between(500, 4_900) : between(1, 80);
    await sleep(duration);
    attempt.isTaken = how === undefined || how === 'is slow' || how.startsWith('takes it');
    await process.pass();
    attempt.isAnswered = true;
    return duration;
  }
}

const UNDER_WAY = { isTaken: undefined, isAnswered: false } as const;
