import type { Message } from './new-mail.ts';
import type { SendResult } from './outcome.ts';

/** A mail as it goes out. */
export type OutgoingMail = Message & {
  readonly messageId: string;
  /** The same in every attempt. */
  readonly date: Date;
  /** Who gets it, so that an inbox ends with its user. */
  readonly userId: string;
};

/** Hands mails to a server, or keeps them in the inbox. */
export type MailSender = {
  /** Never rejects. @param signal ends the attempt; whether the server has the mail is unknown then */
  send(mail: OutgoingMail, signal: AbortSignal): Promise<SendResult>;
  close(): Promise<void>;
};
